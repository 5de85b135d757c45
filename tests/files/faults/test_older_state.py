"""The server restarts from an older state: running clients still drain the feed."""

import random
import secrets
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from faults.rollback import Rollback
from faults.servers import Server
from holdfast import AsyncHoldfast, Counted, FeedLost, FileFeed, FileTaken, Holdfast
from holdfast.files.chunk import BLOCK

LEASE_S = 1.0
BOUND_S = 60.0
CONTENTS = {
    "large": random.Random(5).randbytes(20 * BLOCK).replace(b"\n", b".") + b"\n",
    "one": b"1\n" * 1000,
    "two": b"2\n" * 500,
}
CONSUMERS = ("a", "b")


@pytest.fixture(scope="module")
def machine() -> Iterator[Rollback]:
    with Server(persistence="always") as server:
        yield Rollback(server)


@pytest.fixture
def server(machine: Rollback) -> Server:
    return machine.server


@pytest.fixture
def hf(server: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(server.url, namespace=f"old-{secrets.token_hex(4)}") as hf:
        yield hf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "sent"
    folder.mkdir()
    for name, content in CONTENTS.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def feed(hf: Holdfast) -> FileFeed:
    return hf.file_feed("logs", consumers=CONSUMERS, lease=LEASE_S, budget=2**23)


def drain(feed: FileFeed, name: str, found: dict[str, bytes]) -> None:
    """Read until the feed is over for a consumer; read lost files again."""
    for file in feed.consumer(name).files(timeout=BOUND_S):
        with suppress(FileTaken), file:
            found[file.name] = b"".join(block.data for block in file.blocks(raw=True))


Action = Callable[[], None]


def at_claim(feed: FileFeed, remember: Action, forget: Action) -> None:
    """Restart from a state with the claim and without its end."""
    files = feed.consumer("a").files(timeout=BOUND_S)
    with next(files):
        remember()
    forget()
    assert len([file.__enter__().__exit__(None, None, None) for file in files]) == len(CONTENTS)


def before_claim(feed: FileFeed, remember: Action, forget: Action) -> None:
    """Restart from a state without the claim, while the file is open."""
    files = feed.consumer("a").files(timeout=BOUND_S)
    remember()
    file = next(files)
    with suppress(FileTaken), file:
        forget()
    assert [next(files).name] == [file.name]


def at_give_back(feed: FileFeed, remember: Action, forget: Action) -> None:
    """Restart from a state without the give-back of the file."""
    files = feed.consumer("a").files(timeout=BOUND_S)
    with suppress(ZeroDivisionError), next(files):
        remember()
        raise ZeroDivisionError
    forget()


def at_acknowledgement(feed: FileFeed, remember: Action, forget: Action) -> None:
    """Restart from a state without the acknowledgement of a part of the file."""
    for file in feed.consumer("a").files(timeout=BOUND_S):
        with suppress(FileTaken), file:
            blocks = file.blocks(raw=True)
            remember()
            next(blocks)
            file.ack()
            forget()
            for _ in blocks:
                file.ack()
        break


def at_last_end(feed: FileFeed, remember: Action, forget: Action) -> None:
    """Restart from a state in which a consumer that is done has its last file open."""
    files = feed.consumer("a").files(timeout=BOUND_S)
    for n, file in enumerate(files, 1):
        with file:
            if n == len(CONTENTS):
                remember()
        if n == len(CONTENTS):
            forget()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "play", [at_claim, before_claim, at_give_back, at_acknowledgement, at_last_end]
)
def test_consumers_drain_whatever_was_forgotten(
    machine: Rollback,
    feed: FileFeed,
    folder: Path,
    play: Callable[[FileFeed, Action, Action], None],
) -> None:
    """A claim that its consumer does not have open is not renewed, so it ends."""
    feed.publish_dir(folder)
    feed.seal()
    play(feed, machine.save, machine.restart)
    found: dict[str, bytes] = {}
    drain(feed, "a", {})
    drain(feed, "b", found)
    assert found == CONTENTS
    assert feed.status().state == "over"


async def test_a_claim_that_is_there_again_ends_in_asyncio(
    machine: Rollback, feed: FileFeed, folder: Path, server: Server, hf: Holdfast
) -> None:
    feed.publish_dir(folder)
    feed.seal()
    async with AsyncHoldfast.from_url(server.url, namespace=hf.namespace) as other:
        names: Counter[str] = Counter()
        async for file in other.file_feed("logs").consumer("a").files(timeout=BOUND_S):
            async with file:
                names[file.name] += 1
                if names.total() == 1:
                    machine.save()
            if names.total() == 1:
                machine.restart()
        assert names == {"large": 2, "one": 1, "two": 1}


@pytest.mark.parametrize("begun", [False, True])
def test_a_publisher_sends_again_what_the_server_forgot(
    machine: Rollback, feed: FileFeed, folder: Path, begun: bool
) -> None:
    turns = 0

    def forget(name: str, size: int) -> None:
        nonlocal turns
        if name != "large":
            return
        turns += 1
        if turns == 1 and begun:
            machine.save()
        elif turns == 2:
            machine.restart()

    feed.publish(folder / "one")
    machine.save()
    assert feed.publish_dir(folder, on_progress=forget).failed == {}
    assert turns > 2
    feed.seal()
    for name in CONSUMERS:
        found: dict[str, bytes] = {}
        drain(feed, name, found)
        assert found == CONTENTS
    assert feed.status().state == "over"


def test_what_was_published_and_sealed_is_published_and_sealed_again(
    machine: Rollback, feed: FileFeed, folder: Path
) -> None:
    feed.publish(folder / "one")
    machine.save()

    def forget(name: str, size: int) -> None:
        if size == 16 * BLOCK:
            machine.restart()

    with pytest.raises(FeedLost), (folder / "large").open("rb") as stream:
        feed.publish(stream, name="large", on_progress=forget)
    feed.publish_dir(folder)
    machine.save()
    feed.seal()
    machine.restart()
    assert feed.status().state == "open"
    assert not any(file.sent for file in feed.publish_dir(folder).files)
    feed.seal()
    for name in CONSUMERS:
        found: dict[str, bytes] = {}
        drain(feed, name, found)
        assert found == CONTENTS


def test_a_file_that_has_the_number_of_a_forgotten_one_is_another(
    machine: Rollback, feed: FileFeed, tmp_path: Path
) -> None:
    feed.publish(__file__, name="before")
    first, second = random.Random(1).randbytes(9 * BLOCK), random.Random(2).randbytes(9 * BLOCK)
    (tmp_path / "first").write_bytes(first)
    (tmp_path / "second").write_bytes(second)
    machine.save()
    feed.publish(tmp_path / "first")
    with suppress(ZeroDivisionError):
        for file in feed.consumer("a").files(timeout=BOUND_S):
            with file:
                if file.name == "first":
                    file._reader.windows = interrupted(file._reader.windows)  # type: ignore[method-assign]
                file.save_to(tmp_path / "saved")
    machine.restart()
    feed.publish(tmp_path / "second")
    saved = {}
    for file in feed.consumer("a").files(timeout=2 * LEASE_S):
        with file:
            saved[file.name] = file.save_to(tmp_path / "saved").read_bytes()
    assert saved["second"] == second


def interrupted(
    windows: Callable[..., Iterator[list[bytes]]],
) -> Callable[..., Iterator[list[bytes]]]:
    """Return an iterator function that yields the first window and then fails."""

    def one(chain: object) -> Iterator[list[bytes]]:
        yield next(windows(chain))
        raise ZeroDivisionError

    return one


def test_a_tally_counts_each_line_once(
    machine: Rollback, feed: FileFeed, hf: Holdfast, folder: Path
) -> None:
    feed.publish_dir(folder)
    feed.seal()
    tally, done = hf.tally("words"), False

    def forget(report: object) -> None:
        nonlocal done
        if getattr(report, "files", 0) == 1 and not done:
            done = True
            machine.restart()
        elif not done:
            machine.save()

    def word(line: bytes) -> Counted:
        return Counted("2011-10-10", {"word": line[:1].hex()})

    tally.aggregate(feed.consumer("a"), key=word, progress=forget)
    assert done
    tally.aggregate(feed.consumer("a"), key=word)
    assert tally.total("2011-10-10") == 1500
