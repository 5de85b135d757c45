"""Shapes and samples: pure decisions."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast import Sample, Samples
from holdfast.counters._sync import checked_count
from holdfast.counters.shape import Given, Shape


def test_a_shape_is_kept_as_text() -> None:
    shape = Given.checked([60, 1], 10).over(Shape())
    assert str(shape) == "1,60 10"
    assert Shape.parse("1,60 10") == shape


@pytest.mark.parametrize(
    ("precisions", "keep", "problem"),
    [
        ((), 1, "1 to 16 precisions, got 0"),
        (range(1, 18), 1, "1 to 16 precisions, got 17"),
        ((1, 1), 1, "twice"),
        ((0, 1), 1, "1 to 31,622,400 seconds"),
        ((-1,), 1, "1 to 31,622,400 seconds"),
        ((10**9,), 1, "1 to 31,622,400 seconds"),
        ((1,), 0, "1 to 1,000 samples"),
        ((1,), 1001, "1 to 1,000 samples"),
    ],
)
def test_shapes_out_of_range(precisions: Any, keep: int, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Given.checked(precisions, keep)


@pytest.mark.parametrize(
    ("precisions", "keep"), [((1.5,), 1), ((True,), 1), (("1",), 1), ((1,), 2.0)]
)
def test_shapes_of_other_things(precisions: Any, keep: Any) -> None:
    with pytest.raises(TypeError, match="must be an int"):
        Given.checked(precisions, keep)


@pytest.mark.parametrize(("window_s", "precision"), [(1, 1), (10, 1), (10.5, 5), (50, 5), (51, 60)])
def test_the_finest_precision_for_a_window(window_s: float, precision: int) -> None:
    assert Shape((1, 5, 60), 10).finest(window_s) == precision


def test_a_window_that_is_too_long() -> None:
    with pytest.raises(ValueError, match="601 s are more than it keeps, 600 s"):
        Shape((1, 60), 10).finest(601)


@pytest.mark.parametrize("count", [True, 1.0, math.nan, "1", None])
def test_counts_are_whole_numbers(count: Any) -> None:
    with pytest.raises(TypeError, match="count must be an int"):
        checked_count(count)


@pytest.mark.parametrize("count", [2**63, -(2**63)])
def test_counts_have_a_limit(count: int) -> None:
    with pytest.raises(ValueError, match="count must be within"):
        checked_count(count)


@pytest.mark.parametrize(
    ("values", "line"),
    [([], ""), ([0, 0], "▁▁"), ([5], "█"), ([0, 7, 3, 1], "▁█▄▂"), ([-7, 0], "▁█")],
)
def test_a_sparkline(values: list[int], line: str) -> None:
    start = datetime(2026, 11, 22, tzinfo=UTC)
    assert Samples(Sample(start, value) for value in values).sparkline() == line
