# Generated from test_rotation_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Logs that are rotated, truncated, compressed or replaced: each line counts once."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Site
from holdfast import Counted, Holdfast, LocalFiles, Tally
from holdfast.files._sync import local_files

DAY = "2011-10-10"
HEADER = b"time,word\n"


def words(line: bytes) -> Counted | None:
    return None if line == HEADER.strip() else Counted(DAY, {"word": line.decode()})


def log(name: str, lines: int) -> bytes:
    """Return a log with the same beginning as all others."""
    return HEADER + b"".join(b"%s %d\n" % (name.encode(), n) for n in range(lines))


@pytest.fixture
def tally(site: Site) -> Iterator[Tally]:
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf.tally("words")


def count(tally: Tally, *paths: Path) -> int:
    """Count the files twice, and return the total number of lines."""
    for _ in range(2):
        tally.aggregate(LocalFiles(paths), key=words)
    return tally.total(DAY)


@pytest.mark.parametrize("lines", [1, 5, 9, 10, 11, 500, 9000])
def test_a_rotated_file_with_the_same_beginning_is_counted(
    tally: Tally, tmp_path: Path, lines: int
) -> None:
    """The new file is shorter than the counted part of the old one, as long, or longer."""
    path = tmp_path / "a.log"
    path.write_bytes(log("old", 10))
    assert count(tally, path) == 10
    path.unlink()
    path.write_bytes(log("new", lines))
    assert count(tally, path) == 10 + lines
    path.write_bytes(log("new", lines) + b"more\n")
    assert count(tally, path) == 11 + lines


def test_a_truncated_file_is_a_new_file(tally: Tally, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    total = 0
    for turn, lines in enumerate((20, 3, 40, 1, 7)):
        with path.open("r+b" if path.exists() else "wb") as file:
            file.truncate(0)
            file.write(log(f"turn{turn}", lines))
        total += lines
        assert count(tally, path) == total


def test_a_compressed_rotated_file_is_recognized(tally: Tally, tmp_path: Path) -> None:
    path, packed = tmp_path / "a.log", tmp_path / "a.log.gz"
    path.write_bytes(log("old", 10))
    assert count(tally, tmp_path) == 10
    packed.write_bytes(gzip.compress(log("old", 12)))
    path.write_bytes(log("new", 30))
    assert count(tally, tmp_path) == 42
    path.write_bytes(log("new", 33))
    assert count(tally, tmp_path) == 45


def test_many_files_with_the_same_beginning_are_distinguished(tally: Tally, tmp_path: Path) -> None:
    """There are more than the first lookup finds; then some of them are counted again."""
    path, contents = tmp_path / "a.log", [log(f"n{n}", n % 7 + 1) for n in range(90)]
    total = 0
    for content in contents:
        path.write_bytes(content)
        total += content.count(b"\n") - 1
        tally.aggregate(LocalFiles(path), key=words)
        assert tally.total(DAY) == total
    for content in contents[::11]:
        path.write_bytes(content)
        assert count(tally, path) == total


@pytest.mark.parametrize("packed", [False, True])
def test_large_files_are_distinguished_by_their_ends(
    tally: Tally, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    """The first mebibyte is the same; a file that has grown is recognized."""
    monkeypatch.setattr(local_files, "PIECE", 100_000)
    path = tmp_path / ("a.log.gz" if packed else "a.log")
    beginning = HEADER + (b"w" * 49 + b"\n") * 21_000

    def write(more: bytes) -> None:
        path.write_bytes(gzip.compress(beginning + more, 1) if packed else beginning + more)

    write(b"old\n" * 1000)
    assert count(tally, path) == 22_000
    write(b"old\n" * 1500)
    assert count(tally, path) == 22_500
    write(b"new\n" * 2000)
    assert count(tally, path) == 45_500
    write(b"new\n" * 2001)
    assert count(tally, path) == 45_501


def test_a_file_is_recognized_after_an_overlong_line(tally: Tally, tmp_path: Path) -> None:
    """A file that grows after an overlong line is the same file."""
    path = tmp_path / "a.log"
    overlong = b"x" * 200_000 + b"\n"
    for turn, content in enumerate((overlong, overlong * 2, overlong * 2 + b"last\n")):
        path.write_bytes(log("one", 10) + content)
        assert count(tally, path) == 10 + (turn == 2)


def test_an_unfinished_last_line_is_counted_once(tally: Tally, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    for content in (b"one\ntw", b"one\ntwo\n", b"one\ntwo\nthree\n"):
        path.write_bytes(HEADER + content)
        total = count(tally, path)
    assert total == 3


@pytest.mark.parametrize("last", [b"", b"o", b"one", b"one\n"])
def test_an_unfinished_first_line_is_counted_once(
    tally: Tally, tmp_path: Path, last: bytes
) -> None:
    """While its first line grows, a file is the same file; with another line it is a new one."""
    path = tmp_path / "a.log"
    for content in (last, b"one\ntwo\n", b"one\ntwo\nthree\n"):
        path.write_bytes(content)
        total = count(tally, path)
    assert total == 3
    for content, lines in ((b"four", 4), (b"fours\nfive\n", 5), (b"six\n", 6), (b"seven", 7)):
        path.write_bytes(content)
        assert count(tally, path) == lines


def test_an_edit_between_the_marks_is_not_counted(tally: Tally, tmp_path: Path) -> None:
    """As documented: counted lines stay counted, and appended lines count."""
    path, lines = tmp_path / "a.log", b"word\n" * 100_000
    path.write_bytes(lines)
    assert count(tally, path) == 100_000
    path.write_bytes(lines[:200_000] + b"edit\n" + lines[200_005:] + b"more\n")
    assert count(tally, path) == 100_001


def test_a_position_without_a_mark_is_recognized(tally: Tally, tmp_path: Path, site: Site) -> None:
    """The name and the first line are enough to recognize the file."""
    path = tmp_path / "a.log"
    path.write_bytes(log("old", 10))
    assert count(tally, path) == 10
    [key] = site.client.scan_iter(f"{site.namespace}:*file:*")
    offset, token, _ = site.client.get(key).split()
    site.client.set(key, b"%b %b" % (offset, token))
    path.write_bytes(log("old", 12))
    assert count(tally, path) == 12
