"""Lines by a function of the user's."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from holdfast import Counted
from holdfast.tallies.choice import counter_of
from holdfast.tallies.linecounter import LineCounter
from tallies.reference import SPAN


def test_ten_dimensions_at_once() -> None:
    def key(line: bytes) -> Counted:
        word = line.decode()
        return Counted("2011-10-10", {f"letter {n}": word[n] for n in range(10)})

    counter = LineCounter(key)
    counter.add(b"abcdefghij\r\nabcdefghiX\n", SPAN)
    counter.add(b"abcdefghij", SPAN)
    assert counter.size == 11
    sums = counter.take()
    assert sums.lines == {"2011-10-10": 3}
    assert sums.values["2011-10-10", "letter 9"] == {"j": 2, "X": 1}
    assert len(sums.values) == 10
    assert counter.size == 0


def test_a_day_may_be_a_date() -> None:
    for day in (date(2011, 10, 10), datetime(2011, 10, 10, 23, 59, tzinfo=UTC), "2011-10-10"):
        counter = LineCounter(lambda _, day=day: Counted(day, {}))  # type: ignore[misc]
        counter.add(b"x\n", SPAN)
        assert counter.take().lines == {"2011-10-10": 1}


@pytest.mark.parametrize(
    ("said", "day", "reason"),
    [
        (None, "", "refused"),
        (7, "", "no Counted"),
        (("2011-10-10",), "", "no Counted"),
        (Counted("2011-10-32", {}), "", "no day"),
        (Counted(7, {}), "", "no day"),  # type: ignore[arg-type]
        (Counted(["2011-10-10"], {}), "", "no day"),  # type: ignore[arg-type]
        (Counted("1969-12-31", {}), "", "far-away day"),
        (Counted("2027-01-01", {}), "", "far-away day"),
        (Counted("2011-10-10", {"a": ""}), "2011-10-10", "no value"),
        (Counted("2011-10-10", {"a": "x" * 501}), "2011-10-10", "no value"),
        (Counted("2011-10-10", {"a": "\ud800"}), "2011-10-10", "no value"),
        (Counted("2011-10-10", {"a": "fine", "b": None}), "2011-10-10", "no value"),  # type: ignore[dict-item]
        (Counted("2011-10-10", {"a" * 101: "x"}), "2011-10-10", "no value"),
        (Counted("2011-10-10", {str(n): "x" for n in range(33)}), "2011-10-10", "no value"),
        (Counted("2011-10-10", ["a"]), "2011-10-10", "no value"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_counted_is_rejected(said: Any, day: str, reason: str) -> None:
    counter = LineCounter(lambda _: said)
    counter.add(b"line\n", SPAN)
    sums = counter.take()
    assert sums.rejected == {day: {reason: 1}}
    assert sums.samples == {day: [b"line"]}
    assert not sums.lines
    assert not any(sums.values.values())


def test_a_function_that_fails_costs_its_lines_only(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once, and counted by the name of its error."""
    counter = LineCounter(lambda line: Counted("2011-10-10", {"n": str(10 // int(line))}))
    counter.add(b"1\n0\nx\n0\n\n2\n", SPAN)
    sums = counter.take()
    assert sums.lines == {"2011-10-10": 2}
    assert sums.rejected == {"": {"raised ZeroDivisionError": 2, "raised ValueError": 2}}
    assert len(caplog.records) == 1


def test_lines_that_were_too_long_are_counted() -> None:
    counter = LineCounter(lambda _: None)
    counter.overlong(3)
    assert counter.take().rejected == {"": {"overlong": 3}}


def test_a_key_is_one() -> None:
    with pytest.raises(TypeError, match="a GeoKey or a function"):
        counter_of("country")  # type: ignore[arg-type]
