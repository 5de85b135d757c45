"""Chunks and lines of files."""

import random
import re
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Block
from holdfast.files.chunk import BLOCK, DIGEST_AT, EMPTY, ChunkPacker, digest_after, unpack
from holdfast.files.lines import LineSplitter, checked_max_line, lines_of
from project.sources import PACKAGE

# Lines: cut out of bytes that come in any pieces

MAX = 8


def cut(pieces: list[bytes], max_line: int = MAX, offset: int = 0) -> list[Block]:
    cutter = LineSplitter(offset, max_line)
    return [*(block for piece in pieces for block in cutter.cut(piece)), *cutter.finish()]


def lines_in(blocks: list[Block]) -> tuple[list[bytes], int]:
    """Return the lines, and how many lines were too long."""
    lines = [line for block in blocks for line in lines_of(block.data)]
    return lines, sum(block.overlong for block in blocks)


def expected(data: bytes) -> tuple[list[bytes], int]:
    """Return the same as `lines_in`, from the whole file at once."""
    *whole, rest = data.split(b"\n")
    lines = [line.removesuffix(b"\r") for line in whole] + ([rest] if rest else [])
    return [x for x in lines if len(x) <= MAX], sum(len(x) > MAX for x in lines)


@given(st.lists(st.text("ab\r\n", max_size=30).map(str.encode), max_size=20))
def test_pieces_do_not_matter(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    blocks = cut(pieces)
    assert lines_in(blocks) == expected(data)
    assert all(a.end == b.offset for a, b in pairwise(blocks))
    assert not blocks or (blocks[0].offset, blocks[-1].end) == (0, len(data))
    for block in blocks:
        assert block.data == (b"" if block.overlong else data[block.offset : block.end])


@given(st.binary(max_size=200), st.integers(0, 200))
def test_any_bytes_are_lines(data: bytes, at: int) -> None:
    assert lines_in(cut([data[:at], data[at:]])) == expected(data)


def test_no_empty_line_follows_the_last_end() -> None:
    assert lines_of(b"a\n\nb\n") == [b"a", b"", b"b"]
    assert lines_of(b"") == []
    assert lines_of(b"a\r\nb\r") == [b"a", b"b\r"]


def test_a_line_without_end_takes_no_memory() -> None:
    cutter = LineSplitter(0, MAX)
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


# Chunks: packed, checked, and chained


def chunk_of(data: bytes) -> bytes:
    """Return the first chunk of a file, without compression."""
    packed = ChunkPacker(None).pack(data)
    return packed.chunk(packed.digest(EMPTY))


@pytest.mark.parametrize("codec", [None, "zlib", "zstd"])
@pytest.mark.parametrize("data", [b"x", b"line\n" * 20_000, random.Random(1).randbytes(BLOCK)])
def test_what_is_packed_unpacks(codec: None, data: bytes) -> None:
    packed = ChunkPacker(codec).pack(data)
    digest = packed.digest(EMPTY)
    chunk = packed.chunk(digest)
    found = unpack(chunk)
    assert (found.data, found.digest) == (data, digest)
    assert found.follows(EMPTY)
    assert not found.follows(b"0" * 32)
    assert chunk[DIGEST_AT - 1 : DIGEST_AT + 31] == digest == digest_after(data, EMPTY)


def test_what_does_not_shrink_is_stored_as_it_is() -> None:
    packer, noise = ChunkPacker("zlib"), random.Random(2).randbytes(BLOCK)
    assert packer.pack(noise).payload == noise
    assert packer.pack(b"a" * BLOCK).payload == b"a" * BLOCK


def test_a_whole_chunk_fills_a_class_of_the_allocator() -> None:
    chunk = chunk_of(bytes(BLOCK))
    assert 128 * 1024 - 128 < len(chunk) + 10 <= 128 * 1024


def test_the_scripts_know_how_large_a_block_is() -> None:
    source = (PACKAGE / "files/lua/parts/feed.lua").read_text()
    assert re.search(r"^local BLOCK = (\d+)", source, re.MULTILINE)[1] == str(BLOCK)


@pytest.mark.parametrize(
    ("chunk", "problem"),
    [
        (None, "missing"),
        (b"short", "too few"),
        (b"?" + chunk_of(b"x")[1:], "codec"),
        (chunk_of(b"x") + b"y", "checksum"),
        (b"z" + bytes(36) + b"rubbish", "cannot be unpacked"),
        (b"s" + bytes(36) + b"rubbish", "cannot be unpacked"),
        (b"z" + bytes(36) + zlib.compress(bytes(50 * BLOCK)), "more than 130,944"),
    ],
)
def test_what_is_wrong_is_reported(chunk: bytes | None, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        unpack(chunk)
