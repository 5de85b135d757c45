"""Links in folders that files are published from or saved to: none leads out."""

import io
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from faults.servers import Server
from holdfast import FeedFile, FileFeed, Holdfast, HoldfastError
from holdfast.files.chunk import BLOCK
from holdfast.files.paths import PARTS

DATA = secrets.token_bytes(12 * BLOCK)


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=f"links-{secrets.token_hex(4)}") as hf:
        yield hf


@pytest.fixture
def feed(hf: Holdfast) -> FileFeed:
    return hf.file_feed("logs", consumers=["a"])


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    (folder / "within").mkdir(parents=True)
    (folder / "secret").write_bytes(b"secret")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    (folder / "days").mkdir(parents=True)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_links_out_of_a_folder_are_not_published(
    feed: FileFeed, folder: Path, outside: Path
) -> None:
    (folder / "a.log").write_bytes(b"a")
    (folder / "days" / "same").symlink_to("../a.log")
    (folder / "absolute").symlink_to(folder / "a.log")
    (folder / "secret").symlink_to(outside / "secret")
    (folder / "days" / "up").symlink_to("../../outside/secret")
    (folder / "all").symlink_to(outside)
    result = feed.publish_dir(folder)
    assert {file.name for file in result.files} == {"a.log", "absolute", "days/same"}
    assert set(result.failed) == {"secret", "days/up"}
    assert all("leads out of the folder" in str(error) for error in result.failed.values())
    again = feed.publish_dir(folder, follow_links=True)
    assert {file.name for file in again.files if file.sent} == {"secret", "days/up"}


def test_a_folder_may_be_given_by_a_link(feed: FileFeed, folder: Path, tmp_path: Path) -> None:
    (folder / "days" / "a.log").write_bytes(b"a")
    (tmp_path / "link").symlink_to(folder)
    result = feed.publish_dir(tmp_path / "link")
    assert [file.name for file in result.files] == ["days/a.log"]
    assert not result.failed
    for file in feed.consumer("a").files(timeout=0):
        with file:
            assert file.save_to(tmp_path / "link" / "in").read_bytes() == b"a"


@pytest.mark.parametrize("when", ["before", "while it grows"])
def test_a_folder_that_becomes_a_link_leads_nothing_out(
    feed: FileFeed, folder: Path, outside: Path, when: str
) -> None:
    """The file is given back, and comes when the link is gone."""
    feed.publish(io.BytesIO(DATA), name="days/a.log")

    def swap(*_: object) -> None:
        (folder / "days").rename(folder / "old")
        (folder / "days").symlink_to(outside / "within")

    if when == "before":
        swap()
    before = contents(outside)
    files = feed.consumer("a").files()
    with pytest.raises((OSError, ValueError), match="link"):
        save(next(files), folder, swap if when != "before" else None)
    assert contents(outside) == before
    assert all(name.startswith(f"{PARTS}/") for name in contents(folder))
    (folder / "days").unlink()
    with next(files) as file:
        assert file.save_to(folder).read_bytes() == DATA


def save(file: FeedFile, folder: Path, meanwhile: object) -> None:
    """Save a file, with something that happens after its first window."""
    windows = file._reader.windows

    def disturbed(chain: object) -> Iterator[list[bytes]]:
        for n, window in enumerate(windows(chain)):  # type: ignore[arg-type]
            yield window
            if n == 0 and callable(meanwhile):
                meanwhile()

    file._reader.windows = disturbed  # type: ignore[method-assign, assignment]
    with file:
        file.save_to(folder)


@pytest.mark.parametrize(
    "epoch", [b"../../outside/secret", b"/etc/x", b"1/../../..", b"", b"\xff", b"9" * 400]
)
def test_no_part_is_named_by_the_server(
    hf: Holdfast, feed: FileFeed, standalone: Server, folder: Path, outside: Path, epoch: bytes
) -> None:
    """The epoch of a feed is checked, and no part of a path."""
    client: redis.Redis = standalone.shared_client
    before = contents(outside)
    for key in ("logs", "other"):
        hf.file_feed(key, consumers=["a"]).publish(io.BytesIO(DATA), name="a.log")
    client.hset(f"{hf.namespace}:{{feed:logs}}:meta", "epoch", epoch)
    with pytest.raises(HoldfastError):
        save(next(feed.consumer("a").files(timeout=0)), folder, None)
    assert contents(outside) == before
    assert not contents(folder)
    for file in hf.file_feed("other").consumer("a").files(timeout=0):
        with file:
            file.save_to(folder)
    assert not list((folder / PARTS).iterdir())


def test_parts_of_two_feeds_do_not_meet(hf: Holdfast, folder: Path) -> None:
    files = []
    for name in ("one", "other"):
        feed = hf.file_feed(name, consumers=["a"])
        feed.publish(io.BytesIO(DATA), name="a.log")
        files.append(next(feed.consumer("a").files()))
    assert len({file.id for file in files}) == 2


def test_a_part_of_other_bytes_is_not_taken_up(feed: FileFeed, folder: Path) -> None:
    """Something has changed it: the file is read again from its beginning, and not given up."""
    feed.publish(io.BytesIO(DATA), name="a.log")
    files = feed.consumer("a").files()

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        save(next(files), folder, fail)
    [part] = (folder / PARTS).iterdir()
    assert part.stat().st_size == 8 * BLOCK
    for changed in (b"x" * 3 * BLOCK, b"x" * 20 * BLOCK, b"x"):
        part.write_bytes(changed)
        with pytest.raises(ZeroDivisionError):
            save(next(files), folder, fail)
    part.write_bytes(b"x" * 3 * BLOCK)
    with next(feed.consumer("a").files()) as file:
        assert file.save_to(folder).read_bytes() == DATA
