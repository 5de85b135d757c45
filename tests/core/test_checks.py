"""Whole numbers as users give them."""

from enum import Enum, IntEnum
from typing import Any

import pytest

from holdfast.core.checks import checked_int


@pytest.mark.parametrize("value", [1, 500, 1_000])
def test_a_whole_number_in_range_is_taken_as_it_is(value: int) -> None:
    assert checked_int(value, "limit", 1, 1_000) == value


class Few(IntEnum):
    """A number with a name."""

    THREE = 3


class Some(int, Enum):
    """One that says its name where its number is wanted."""

    THREE = 3


@pytest.mark.parametrize("value", [Few.THREE, Some.THREE])
def test_a_number_of_a_kind_of_its_own_becomes_plain(value: int) -> None:
    plain = checked_int(value, "limit", 1, 5)
    assert (plain, type(plain)) == (3, int)
    with pytest.raises(ValueError, match=r"^limit must be 1 to 2, got 3$"):
        checked_int(value, "limit", 1, 2)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(TypeError, match=f"^limit must be an int, got {kind}$"):
        checked_int(value, "limit", 0, 1_000)


@pytest.mark.parametrize(
    ("value", "bounds", "unit", "problem"),
    [
        (0, (1, 1_000), "", "limit must be 1 to 1,000, got 0"),
        (2_000, (1, 1_000), "rows", "limit must be 1 to 1,000 rows, got 2,000"),
        (0, (1,), "", "limit must be 1 or more, got 0"),
    ],
)
def test_what_is_out_of_range_is_told_what_is_in_it(
    value: int, bounds: tuple[int, ...], unit: str, problem: str
) -> None:
    with pytest.raises(ValueError, match=f"^{problem}$"):
        checked_int(value, "limit", *bounds, unit=unit)


@pytest.mark.parametrize("value", [-5, 2**70])
def test_a_number_without_bounds_may_be_any(value: int) -> None:
    assert checked_int(value, "count") == value
