"""Chunks: packed, checked, and chained."""

import random
import re
import zlib

import pytest

from holdfast.files.chunk import BLOCK, DIGEST_AT, EMPTY, Packer, digest_after, unpack
from project.sources import PACKAGE


def chunk_of(data: bytes) -> bytes:
    """The first of a file, not compressed."""
    packed = Packer(None).pack(data)
    return packed.chunk(packed.digest(EMPTY))


@pytest.mark.parametrize("codec", [None, "zlib", "zstd"])
@pytest.mark.parametrize("data", [b"x", b"line\n" * 20_000, random.Random(1).randbytes(BLOCK)])
def test_what_is_packed_unpacks(codec: None, data: bytes) -> None:
    packed = Packer(codec).pack(data)
    digest = packed.digest(EMPTY)
    chunk = packed.chunk(digest)
    found = unpack(chunk)
    assert (found.data, found.digest) == (data, digest)
    assert found.follows(EMPTY)
    assert not found.follows(b"0" * 32)
    assert chunk[DIGEST_AT - 1 : DIGEST_AT + 31] == digest == digest_after(data, EMPTY)


def test_what_does_not_shrink_is_stored_as_it_is() -> None:
    packer, noise = Packer("zlib"), random.Random(2).randbytes(BLOCK)
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
def test_what_is_wrong_is_said(chunk: bytes | None, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        unpack(chunk)
