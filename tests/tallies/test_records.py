"""Records of lines: keys, counts and rejects."""

import secrets
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from faults.hostile import KINDS
from faults.servers import Server
from holdfast import Counted, Holdfast, LocalFiles
from holdfast.tallies.choice import counter_of
from holdfast.tallies.geo.records import BadRecord, Records
from holdfast.tallies.line_counter import LineCounter
from tallies.reference import SPAN

# Records made to do harm: the work for a file is bounded by its size


def pointer(target: int) -> bytes:
    return bytes([0b00111000]) + target.to_bytes(4)


def test_pointers_to_pointers_to_values_are_read_once() -> None:
    key = b"\x41a"
    step = len(b"\xe2" + 2 * (b"\x41a" + pointer(0)))
    data = b"".join(
        b"\xe2" + key + pointer((n + 1) * step) + b"\x41b" + pointer((n + 1) * step)
        for n in range(30)
    )
    found = Records(data + b"\x42hi", frozenset("ab")).read(0)
    for _ in range(30):
        assert found["a"] is found["b"]
        found = found["b"]
    assert found == "hi"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (pointer(0), "a pointer leads to another one"),
        (b"\xe1\x41a" + pointer(0), "circles"),
        (b"\x01\x04" + pointer(0), "circles"),
        (b"\x42a", "out of the data"),
        (b"\xe1\x41a", "out of the data"),
        (pointer(99), "out of the data"),
        (b"\x38\0\0", "out of the data"),
        (b"\x5d", "out of the data"),
        (b"\x5f\xff", "out of the data"),
        (b"\x42\xff\xfe", "no UTF-8"),
        (b"\xe1\xa1\x05\x41a", "the key of a map is no text"),
        (b"\x5f\x01\0\0" + b"a" * 200_000, "a text has 131,357 bytes"),
        (b"\xff\xff\xff\xff", "kind 7 and size 16,843,036"),
        (b"\x01\x05", "kind 12"),
    ],
)
def test_what_is_no_value_is_refused(data: bytes, problem: str) -> None:
    """Nothing is read beyond the data, and nothing without end."""
    with pytest.raises(BadRecord, match=problem):
        Records(data, frozenset("a")).read(0)


def test_texts_that_overlap_cost_no_more_than_some_times_the_file() -> None:
    """Here ten thousand pointers lead into a run of bytes that is a text of 24,443 from each on."""
    texts, count = b"\x5e" * 35_000, 10_000
    array = b"\x1e\x04" + (count - 285).to_bytes(2) + b"".join(map(pointer, range(count)))
    with pytest.raises(BadRecord, match="texts overlap"):
        Records(texts + array, frozenset()).read(len(texts))


def test_values_that_overlap_cost_no_more_than_the_file_has_bytes() -> None:
    data = b"\x1e\x04\x03\xff" + b"\x00\x07" * 1308
    records = Records(data, frozenset())
    assert len(records.read(0)) == 1308
    again = (records.read(0) for _ in range(10))
    with pytest.raises(BadRecord, match="overlap"):
        list(again)


# Lines by a function of the user's


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


# Whatever a key raises, its line is rejected and the others are counted

ORDINARY = sorted(kind for kind in KINDS if issubclass(type(KINDS[kind]()), Exception))


def test_a_key_may_raise_whatever_it_likes(standalone: Server, tmp_path: Path) -> None:
    """The reason names the type of the exception, as far as it has a name."""
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
def test_the_first_one_is_logged(
    standalone: Server, tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.log"
    path.write_text("a line\n")

    def key(_: bytes) -> Counted:
        raise KINDS[kind]()  # noqa: RSE102 (some are functions)

    with Holdfast.from_url(standalone.url, namespace=f"hostile-{secrets.token_hex(4)}") as hf:
        hf.tally("daily").aggregate(LocalFiles([path]), key=key)
    assert "the key failed on b'a line'" in caplog.text
