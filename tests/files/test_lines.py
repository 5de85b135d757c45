"""Lines: cut out of bytes that come in any pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Block
from holdfast.files.lines import Cutter, checked_max_line, lines_of

MAX = 8


def cut(pieces: list[bytes], max_line: int = MAX, offset: int = 0) -> list[Block]:
    """All blocks of *pieces*."""
    cutter = Cutter(offset, max_line)
    return [*(block for piece in pieces for block in cutter.cut(piece)), *cutter.finish()]


def told(blocks: list[Block]) -> tuple[list[bytes], int]:
    """The lines, and how many were too long."""
    lines = [line for block in blocks for line in lines_of(block.data)]
    return lines, sum(block.overlong for block in blocks)


def expected(data: bytes) -> tuple[list[bytes], int]:
    """The same, the simple way."""
    *whole, rest = data.split(b"\n")
    lines = [line.removesuffix(b"\r") for line in whole] + ([rest] if rest else [])
    return [x for x in lines if len(x) <= MAX], sum(len(x) > MAX for x in lines)


@given(st.lists(st.text("ab\r\n", max_size=30).map(str.encode), max_size=20))
def test_pieces_do_not_matter(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    blocks = cut(pieces)
    assert told(blocks) == expected(data)
    assert all(a.end == b.offset for a, b in pairwise(blocks))
    assert not blocks or (blocks[0].offset, blocks[-1].end) == (0, len(data))
    for block in blocks:
        assert block.data == (b"" if block.overlong else data[block.offset : block.end])


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_bytes_are_lines(data: bytes, at: int) -> None:
    assert told(cut([data[:at], data[at:]])) == expected(data)


def test_no_empty_line_follows_the_last_end() -> None:
    assert lines_of(b"a\n\nb\n") == [b"a", b"", b"b"]
    assert lines_of(b"") == []
    assert lines_of(b"a\r\nb\r") == [b"a", b"b\r"]


def test_a_line_without_end_takes_no_memory() -> None:
    cutter = Cutter(0, MAX)
    for _ in range(1000):
        assert list(cutter.cut(b"x" * 1000)) == []
    assert list(cutter.cut(b"\nok\n")) == [
        Block(0, 1_000_001, b"", 1),
        Block(1_000_001, 1_000_004, b"ok\n"),
    ]


def test_a_limit_is_checked() -> None:
    with pytest.raises(ValueError, match="1 to 130,944"):
        checked_max_line(0)
    with pytest.raises(TypeError, match="int"):
        checked_max_line(1.5)
