"""Sources of published files: they are read in blocks and unpacked."""

import gzip
import io
import os
import random
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import InvalidName
from holdfast.core.compression import zstd
from holdfast.files.chunk import BLOCK
from holdfast.files.file_reader import (
    FileReader,
    Packing,
    SourceDamaged,
    decoded_name,
    encoded_name,
    packing_of,
    published_name,
)

LIMIT = 2**30
LINES = b"".join(b"line %d\n" % n for n in range(50_000))
PACKED = gzip.compress(LINES)
NOISE = random.Random(3).randbytes(3 * BLOCK + 5)


def read(data: bytes, packing: Packing | None = None, limit: int = LIMIT) -> bytes:
    return read_all(FileReader(io.BytesIO(data), packing, limit))


def read_all(source: FileReader) -> bytes:
    blocks = []
    while block := source.block():
        blocks.append(block)
    assert all(len(block) == BLOCK for block in blocks[:-1])
    return b"".join(blocks)


@pytest.mark.parametrize("data", [b"", b"x", bytes(BLOCK), LINES, NOISE])
def test_bytes_come_as_they_are(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(data)
    assert read(data) == data
    source = FileReader(path, None, LIMIT)
    assert source.size == len(data)
    assert read_all(source) == data
    source.close()


@pytest.mark.parametrize("data", [b"", b"x", LINES, NOISE])
def test_all_members_of_a_gzip_file_are_unpacked(data: bytes) -> None:
    assert read(gzip.compress(data), "gzip") == data
    members = [gzip.compress(part) for part in (data[:7], b"", data[7:])]
    assert read(b"".join(members), "gzip") == data
    assert read(b"".join(members) + bytes(100_000), "gzip") == data
    assert read(b"", "gzip") == b""


@pytest.mark.parametrize("data", [b"", b"x", LINES, NOISE])
def test_all_frames_of_a_zstandard_file_are_unpacked(data: bytes) -> None:
    compress = zstd().compress
    assert read(compress(data[:9]) + compress(data[9:]), "zstd") == data
    assert read(b"", "zstd") == b""


def flipped(data: bytes, at: int) -> bytes:
    """Return *data* with one wrong bit in the byte *at*."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@pytest.mark.parametrize(
    ("data", "packing", "problem"),
    [
        (PACKED[:-1], "gzip", "ends within its member 1"),
        (gzip.compress(b"a") + PACKED[:50], "gzip", "ends within its member 2"),
        (PACKED[:5], "gzip", "ends within its member 1"),
        (flipped(PACKED, -8), "gzip", "incorrect data check"),
        (flipped(PACKED, -1), "gzip", "incorrect length check"),
        (PACKED + b"rubbish", "gzip", "member 2"),
        (LINES, "gzip", "member 1 of the gzip file"),
        (LINES, "zstd", "frame 1 of the Zstandard file"),
        (zstd().compress(LINES)[:-1], "zstd", "ends within its frame 1"),
    ],
    ids=range(9),
)
def test_damage_is_found(data: bytes, packing: Packing, problem: str) -> None:
    with pytest.raises(SourceDamaged, match=problem):
        read(data, packing)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_bomb_stops_at_the_limit(packing: Packing) -> None:
    if packing == "gzip":
        packer = zlib.compressobj(9, wbits=31)
        bomb = b"".join(packer.compress(bytes(2**24)) for _ in range(4)) + packer.flush()
    else:
        bomb = zstd().compress(bytes(2**26))
    source = FileReader(io.BytesIO(bomb), packing, 2**20)
    with pytest.raises(SourceDamaged, match="more than 1,048,576 bytes"):
        read_all(source)
    assert len(source.rest()) <= BLOCK


def test_good_bytes_before_the_damage_are_returned() -> None:
    source = FileReader(io.BytesIO(gzip.compress(b"good\n") + b"bad"), "gzip", LIMIT)
    with pytest.raises(SourceDamaged):
        source.block()
    assert source.rest() == b"good\n"


@given(
    lines=st.lists(st.binary(max_size=30).map(lambda line: line + b"\n"), max_size=12),
    last=st.binary(max_size=5),
    size=st.integers(1, 100),
)
def test_pieces_end_with_a_line_if_they_can(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], last: bytes, size: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines"
    data = b"".join(lines) + last
    path.write_bytes(data)
    source, pieces = FileReader(path, None, LIMIT), []
    while piece := source.whole_lines(size):
        pieces.append(piece)
    source.close()
    assert b"".join(pieces) == data
    for piece in pieces:
        assert len(piece) <= size
        looked_at = data[:size][-(size // 2) :] if size > 1 else b""
        assert piece.endswith(b"\n") or len(data) <= size or b"\n" not in looked_at
        data = data[len(piece) :]


def test_a_file_that_grows_is_as_long_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(LINES)
    source = FileReader(path, None, LIMIT)
    head = source.block()
    with path.open("ab") as more:
        more.write(b"more\n" * 100_000)
    assert head + read_all(source) == LINES
    source.close()


def test_a_file_that_shrinks_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(LINES)
    source = FileReader(path, None, LIMIT)
    source.block()
    os.truncate(path, 10)
    with pytest.raises(SourceDamaged, match=r"it shrank from 538,890 bytes to"):
        read_all(source)
    source.close()


def test_a_file_that_vanishes_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(LINES)
    source = FileReader(path, None, LIMIT)
    path.unlink()
    assert read_all(source) == LINES
    source.close()


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ValueError, match="only regular files"):
            FileReader(path, None, LIMIT)
    with pytest.raises(FileNotFoundError):
        FileReader(tmp_path / "none", None, LIMIT)


@pytest.mark.parametrize(("piece", "error"), [(None, BlockingIOError), ("text", TypeError)])
def test_a_file_object_must_block_and_read_bytes(piece: object, error: type[Exception]) -> None:
    class Odd:
        def read(self, size: int, /) -> Any:
            return piece

    with pytest.raises(error, match="the file object"):
        FileReader(Odd(), None, LIMIT).block()


def test_names_show_how_files_are_packed() -> None:
    assert [packing_of(name) for name in ("a.gz", "A.GZ", "a.zst", "a.log", "gz", ".gz")] == [
        "gzip",
        "gzip",
        "zstd",
        None,
        None,
        None,
    ]
    assert published_name("days/a.log.gz", "gzip") == "days/a.log"
    assert published_name("a.log.gz", None) == "a.log.gz"
    assert published_name("a.log", "gzip") == "a.log"


@pytest.mark.parametrize(
    "name", ["", ":done", "../../etc/passwd", "/", "a\0b", "x" * 300, "日本", "not-\udcff-utf8"]
)
def test_any_text_is_a_name(name: str) -> None:
    assert decoded_name(encoded_name(name)) == name


def test_some_names_are_refused() -> None:
    with pytest.raises(InvalidName, match="limit is 1024"):
        encoded_name("x" * 1025)
    with pytest.raises(InvalidName, match="not valid Unicode"):
        encoded_name("\ud800")
    with pytest.raises(TypeError, match="str"):
        encoded_name(b"x")  # type: ignore[arg-type]
