"""Malicious records of a database: the size of the file bounds the work for it."""

import pytest

from holdfast.tallies.geo.mmdb_records import BadRecord, RecordDecoder


def pointer(target: int) -> bytes:
    return bytes([0b00111000]) + target.to_bytes(4)


def test_values_behind_many_pointers_are_decoded_once() -> None:
    key = b"\x41a"
    step = len(b"\xe2" + 2 * (b"\x41a" + pointer(0)))
    data = b"".join(
        b"\xe2" + key + pointer((n + 1) * step) + b"\x41b" + pointer((n + 1) * step)
        for n in range(30)
    )
    found = RecordDecoder(data + b"\x42hi", frozenset("ab")).read(0)
    for _ in range(30):
        assert found["a"] is found["b"]
        found = found["b"]
    assert found == "hi"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (pointer(0), "a pointer points to another one"),
        (b"\xe1\x41a" + pointer(0), "cycle"),
        (b"\x01\x04" + pointer(0), "cycle"),
        (b"\x42a", "out of the data"),
        (b"\xe1\x41a", "out of the data"),
        (pointer(99), "out of the data"),
        (b"\x38\0\0", "out of the data"),
        (b"\x5d", "out of the data"),
        (b"\x5f\xff", "out of the data"),
        (b"\x42\xff\xfe", "not UTF-8"),
        (b"\xe1\xa1\x05\x41a", "the key of a map is not a text"),
        (b"\x5f\x01\0\0" + b"a" * 200_000, "a text has 131,357 bytes"),
        (b"\xff\xff\xff\xff", "kind 7 and size 16,843,036"),
        (b"\x01\x05", "kind 12"),
    ],
)
def test_an_invalid_value_is_rejected(data: bytes, problem: str) -> None:
    """The decoder reads nothing out of bounds, and does not loop."""
    with pytest.raises(BadRecord, match=problem):
        RecordDecoder(data, frozenset("a")).read(0)


def test_the_file_size_bounds_the_work_for_overlapping_texts() -> None:
    """Ten thousand pointers lead into one run of bytes; at each, a text of 24,443 bytes begins."""
    texts, count = b"\x5e" * 35_000, 10_000
    array = b"\x1e\x04" + (count - 285).to_bytes(2) + b"".join(map(pointer, range(count)))
    with pytest.raises(BadRecord, match="texts overlap"):
        RecordDecoder(texts + array, frozenset()).read(len(texts))


def test_the_file_size_bounds_the_work_for_overlapping_values() -> None:
    data = b"\x1e\x04\x03\xff" + b"\x00\x07" * 1308
    records = RecordDecoder(data, frozenset())
    assert len(records.read(0)) == 1308
    again = (records.read(0) for _ in range(10))
    with pytest.raises(BadRecord, match="overlap"):
        list(again)
