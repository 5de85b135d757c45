"""Local files, read with the interface of the files of a feed."""

import gzip
import os
import random
from pathlib import Path

import pytest

from holdfast import AsyncLocalFiles, Block, DamagedFile
from holdfast.core.compression import zstd
from holdfast.files._async import local_files as local
from holdfast.files.lines import lines_of

LINES = b"".join(b"line %d\n" % n for n in range(40_000))


@pytest.fixture(autouse=True)
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "PIECE", 100_000)


async def blocks_of(file: local.AsyncLocalFile, start: int = 0) -> list[Block]:
    return [block async for block in file.blocks(start=start) if block]


async def read(files: AsyncLocalFiles, start: int = 0) -> dict[str, list[Block]]:
    """Return the blocks of each file."""
    found = {}
    async for file in files.files():
        async with file:
            found[file.name] = await blocks_of(file, start)
            await file.ack()
    return found


async def lines(files: AsyncLocalFiles, start: int = 0) -> list[bytes]:
    found = await read(files, start)
    return [line for name in found for block in found[name] for line in lines_of(block.data)]


async def id_of(path: Path) -> str:
    async for file in AsyncLocalFiles(path).files():
        async with file:
            return file.id
    raise AssertionError("there is none")


async def test_blocks_are_whole_lines_one_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(LINES + b"last")
    async for file in AsyncLocalFiles(path).files():
        async with file:
            assert (file.name, file.offset) == ("a.log", 0)
            for start in (0, 7, len(LINES), LINES.index(b"line 30000")):
                blocks = await blocks_of(file, start)
                assert blocks[0].offset == start
                assert blocks[-1].end == len(LINES) + 4
                assert all(block.data.endswith(b"\n") for block in blocks[:-1])
                assert b"".join(block.data for block in blocks) == (LINES + b"last")[start:]
            assert not await blocks_of(file, len(LINES) + 4)


@pytest.mark.parametrize("data", [b"", b"\n", b"x", b"\r\n\n", b"\0\xff\n\x80"])
async def test_any_bytes_are_lines(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    assert await lines(AsyncLocalFiles(tmp_path / "a")) == lines_of(data)


async def test_files_are_called_by_their_paths(tmp_path: Path) -> None:
    """From the folder on; where several are given, all of the path. Links to folders are passed."""
    (tmp_path / "days" / "old").mkdir(parents=True)
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for name in ("b.log", "days/1.log", "days/old/0.log"):
        (tmp_path / name).write_bytes(b"x\n")
    names = ["b.log", "days/1.log", "days/old/0.log"]
    assert list(await read(AsyncLocalFiles(tmp_path))) == names
    assert list(await read(AsyncLocalFiles(tmp_path / "b.log"))) == ["b.log"]
    both = AsyncLocalFiles([tmp_path / "days", tmp_path / "b.log"])
    assert list(await read(both)) == [f"{tmp_path}/{n}" for n in (*names[1:], names[0])]
    assert str(tmp_path / "b.log") in repr(both)


async def test_what_is_packed_is_unpacked(tmp_path: Path) -> None:
    members = gzip.compress(LINES[:99_999]) + gzip.compress(b"") + gzip.compress(LINES[99_999:])
    (tmp_path / "a.gz").write_bytes(members)
    (tmp_path / "b.zst").write_bytes(zstd().compress(LINES))
    start = LINES.index(b"line 30000")
    for name in ("a.gz", "b.zst"):
        files = AsyncLocalFiles(tmp_path / name)
        assert await lines(files) == lines_of(LINES)
        assert await lines(files, start) == lines_of(LINES[start:])


@pytest.mark.parametrize(
    ("data", "limit", "good", "problem"),
    [
        (gzip.compress(LINES, 0)[:200_000], 2**30, 199_000, "the gzip file ends within"),
        (gzip.compress(LINES, 1)[:-1], 2**30, len(LINES), "the gzip file ends within"),
        (gzip.compress(bytes(2**24), 1), 2**20, 0, "it unpacks to more than 1,048,576 bytes"),
        (b"no gzip\n", 2**30, 0, "member 1 of the gzip file"),
    ],
    ids=["cut", "end", "bomb", "none"],
)
async def test_what_comes_before_the_damage_is_good(
    tmp_path: Path, data: bytes, limit: int, good: int, problem: str
) -> None:
    (tmp_path / "a.gz").write_bytes(data)
    found = bytearray()

    async def read_all() -> None:
        async for file in AsyncLocalFiles(tmp_path, max_unpacked=limit).files():
            async with file:
                async for block in file.blocks():
                    found.extend(block.data)

    with pytest.raises(DamagedFile, match=f"'a.gz' is damaged: {problem}"):
        await read_all()
    assert LINES.startswith(found)
    assert good - 1000 <= len(found) <= good + 1000


async def test_what_cannot_be_opened_is_damaged(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "b.log").write_bytes(b"x\n")
    (tmp_path / "days").mkdir()
    (tmp_path / "days" / "gone").symlink_to("nowhere")
    found: dict[str, int | str] = {}
    paths = [tmp_path / name for name in ("none", "pipe", "days", "b.log")]
    async for file in AsyncLocalFiles(paths).files():
        name = Path(file.name).name
        try:
            async with file:
                found[name] = len(await blocks_of(file))
        except DamagedFile as error:
            found[name] = error.problem
    assert "No such file" in str(found["none"])
    assert "No such file" in str(found["gone"])
    assert "only regular files" in str(found["pipe"])
    assert found["b.log"] == 1


async def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    """It is as long as it was; one that shrinks is damaged, one that vanishes is not."""
    path = tmp_path / "a.log"
    for change in ("grows", "vanishes", "shrinks"):
        path.write_bytes(LINES)
        found, problem = b"", ""
        async for file in AsyncLocalFiles(path).files():
            try:
                async with file:
                    async for block in file.blocks():
                        if not found and change == "grows":
                            with path.open("ab") as more:
                                more.write(LINES)
                        elif not found and change == "vanishes":
                            path.unlink()
                        elif not found:
                            os.truncate(path, 10)
                        found += block.data
            except DamagedFile as error:
                problem = error.problem
        if change == "shrinks":
            assert problem.startswith("it shrank from 428,890 bytes to ")
            assert LINES.startswith(found)
        else:
            assert (found, problem) == (LINES, "")


async def test_a_file_is_known_by_its_name_and_its_first_line(tmp_path: Path) -> None:
    """Growing and being packed change nothing; another name, or another first line, does."""
    path, other = tmp_path / "a.log", tmp_path / "b.log"
    path.write_bytes(b"first\n")
    before = await id_of(path)
    path.write_bytes(b"first\nsecond\n")
    other.write_bytes(b"first\n")
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(b"first\nsecond\n"))
    assert await id_of(path) == await id_of(tmp_path / "a.log.gz") == before
    assert await id_of(other) != before
    path.write_bytes(b"First\nsecond\n")
    assert await id_of(path) != before


async def test_a_last_line_without_an_end_is_read_once(tmp_path: Path) -> None:
    """Now; and when more of it comes, that is left out."""
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntw")
    assert await lines(AsyncLocalFiles(path)) == [b"one", b"tw"]
    for rest in (b"", b"o", b"o\n", b"o\nthree\nfour"):
        path.write_bytes(b"one\ntw" + rest)
        assert await lines(AsyncLocalFiles(path), 6) == lines_of(rest)[1:]
        (blocks,) = (await read(AsyncLocalFiles(path), 6)).values()
        assert [block.end for block in blocks[-1:]] == [6 + len(rest)][: len(rest)]
        assert not any(block.overlong for block in blocks)


async def test_a_last_line_that_may_grow_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"one\ntw")
    growing = AsyncLocalFiles(path, growing=True)
    (blocks,) = (await read(growing)).values()
    assert blocks == [Block(0, 4, b"one\n")]
    path.write_bytes(b"one\ntwo\nth")
    (blocks,) = (await read(growing, 4)).values()
    assert blocks == [Block(4, 8, b"two\n")]


async def test_a_file_that_became_shorter_is_damaged(tmp_path: Path) -> None:
    for name in ("a.log", "a.log.gz"):
        path = tmp_path / name
        data = b"one\ntwo\n"
        path.write_bytes(gzip.compress(data) if name.endswith("z") else data)
        assert await lines(AsyncLocalFiles(path), 8) == []
        for start in (9, 10, 1000):
            with pytest.raises(DamagedFile, match=f"it ends before byte {start:,}"):
                await lines(AsyncLocalFiles(path), start)


async def test_lines_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    dice = random.Random(3)
    parts = [dice.randbytes(70_000).replace(b"\n", b".") if n % 3 else b"ok" for n in range(9)]
    path = tmp_path / "a.log"
    path.write_bytes(b"\n".join(parts))
    (blocks,) = (await read(AsyncLocalFiles(path))).values()
    assert sum(block.overlong for block in blocks) == 6
    assert b"".join(block.data for block in blocks) == b"ok\n" * 3
    assert blocks[-1].end == path.stat().st_size
