"""Lines that are counted by a function of the user."""

import secrets
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from faults.hostile import KINDS
from faults.servers import Server
from holdfast import Counted, Holdfast, LocalFiles
from holdfast.tallies._sync.tally import _counters_for
from holdfast.tallies.function_counter import FunctionCounter
from tallies.reference import VALID_DAYS


def test_a_line_may_have_ten_dimensions() -> None:
    def key(line: bytes) -> Counted:
        word = line.decode()
        return Counted("2011-10-10", {f"letter {n}": word[n] for n in range(10)})

    counter = FunctionCounter(key)
    counter.add(b"abcdefghij\r\nabcdefghiX\n", VALID_DAYS)
    counter.add(b"abcdefghij", VALID_DAYS)
    assert counter.size == 11
    sums = counter.take()
    assert sums.lines == {"2011-10-10": 3}
    assert sums.values["2011-10-10", "letter 9"] == {"j": 2, "X": 1}
    assert len(sums.values) == 10
    assert counter.size == 0


def test_a_day_may_be_a_date() -> None:
    for day in (date(2011, 10, 10), datetime(2011, 10, 10, 23, 59, tzinfo=UTC), "2011-10-10"):
        counter = FunctionCounter(lambda _, day=day: Counted(day, {}))  # type: ignore[misc]
        counter.add(b"x\n", VALID_DAYS)
        assert counter.take().lines == {"2011-10-10": 1}


def test_a_day_is_that_of_its_time_zone() -> None:
    """Also if another line has the same instant in another time zone."""
    first = datetime(2011, 10, 11, 0, 30, tzinfo=timezone(timedelta(hours=1)))
    instants = iter([first, first.astimezone(UTC)])
    counter = FunctionCounter(lambda _: Counted(next(instants), {}))
    counter.add(b"x\nx\n", VALID_DAYS)
    assert counter.take().lines == {"2011-10-11": 1, "2011-10-10": 1}


@pytest.mark.parametrize("value", [["login"], {"login": 1}, 7, None])
def test_an_invalid_value_after_valid_ones_is_rejected(value: Any) -> None:
    values = iter(["login", value, "login"])
    counter = FunctionCounter(lambda _: Counted("2011-10-10", {"event": next(values)}))
    counter.add(b"1\n2\n3\n", VALID_DAYS)
    sums = counter.take()
    assert sums.values == {("2011-10-10", "event"): {"login": 2}}
    assert sums.rejected == {"2011-10-10": {"no value": 1}}


@pytest.mark.parametrize(
    ("returned", "day", "reason"),
    [
        (None, "", "refused"),
        (7, "", "no Counted"),
        (("2011-10-10",), "", "no Counted"),
        (Counted("2011-10-32", {}), "", "no day"),
        (Counted(7, {}), "", "no day"),  # type: ignore[arg-type]
        (Counted(["2011-10-10"], {}), "", "no day"),  # type: ignore[arg-type]
        (Counted("1969-12-31", {}), "", "day out of range"),
        (Counted("2027-01-01", {}), "", "day out of range"),
        (Counted("2011-10-10", {"a": ""}), "2011-10-10", "no value"),
        (Counted("2011-10-10", {"a": "x" * 501}), "2011-10-10", "no value"),
        (Counted("2011-10-10", {"a": "\ud800"}), "2011-10-10", "no value"),
        (Counted("2011-10-10", {"a": "fine", "b": None}), "2011-10-10", "no value"),  # type: ignore[dict-item]
        (Counted("2011-10-10", {"a" * 101: "x"}), "2011-10-10", "no value"),
        (Counted("2011-10-10", {str(n): "x" for n in range(33)}), "2011-10-10", "no value"),
        (Counted("2011-10-10", ["a"]), "2011-10-10", "no value"),  # type: ignore[arg-type]
    ],
)
def test_an_invalid_result_is_rejected(returned: Any, day: str, reason: str) -> None:
    counter = FunctionCounter(lambda _: returned)
    counter.add(b"line\n", VALID_DAYS)
    sums = counter.take()
    assert sums.rejected == {day: {reason: 1}}
    assert sums.samples == {day: [b"line"]}
    assert not sums.lines
    assert not any(sums.values.values())


def test_a_failing_function_rejects_only_its_lines(caplog: pytest.LogCaptureFixture) -> None:
    """The first failure is logged; failures are counted by the type of the error."""
    counter = FunctionCounter(lambda line: Counted("2011-10-10", {"n": str(10 // int(line))}))
    counter.add(b"1\n0\nx\n0\n\n2\n", VALID_DAYS)
    sums = counter.take()
    assert sums.lines == {"2011-10-10": 2}
    assert sums.rejected == {"": {"raised ZeroDivisionError": 2, "raised ValueError": 2}}
    assert len(caplog.records) == 1


def test_overlong_lines_are_counted_as_rejected() -> None:
    counter = FunctionCounter(lambda _: None)
    counter.reject_overlong(3)
    assert counter.take().rejected == {"": {"overlong": 3}}


def test_a_key_of_another_type_is_rejected() -> None:
    with pytest.raises(TypeError, match="a GeoKey or a function"):
        _counters_for("country")  # type: ignore[arg-type]


# A key may raise any exception: its line is rejected, and the others are counted

ORDINARY = sorted(kind for kind in KINDS if issubclass(type(KINDS[kind]()), Exception))


def test_a_key_may_raise_any_exception(standalone: Server, tmp_path: Path) -> None:
    """The reason contains the name of the exception type, if it has one."""
    path = tmp_path / "a.log"
    path.write_text("".join(f"{kind}\n" for kind in ORDINARY) + "a line\n")

    def key(line: bytes) -> Counted:
        if line.decode() in KINDS:
            raise KINDS[line.decode()]()  # noqa: RSE102 (some are functions)
        return Counted("2011-10-10", {"word": "line"})

    with Holdfast.from_url(standalone.url, namespace=f"hostile-{secrets.token_hex(4)}") as hf:
        tally = hf.tally("daily")
        tally.aggregate(LocalFiles([path]), key=key)
        assert tally.total("2011-10-10") == 1
        assert tally.rejected().lines == len(ORDINARY)


@pytest.mark.parametrize("kind", ORDINARY)
def test_the_first_failure_is_logged(
    standalone: Server, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.log"
    path.write_text("a line\n")

    def key(_: bytes) -> Counted:
        raise KINDS[kind]()  # noqa: RSE102 (some are functions)

    with Holdfast.from_url(standalone.url, namespace=f"hostile-{secrets.token_hex(4)}") as hf:
        hf.tally("daily").aggregate(LocalFiles([path]), key=key)
    assert "the key failed on b'a line'" in caplog.text
