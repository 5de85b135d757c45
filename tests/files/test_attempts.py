"""Files that fail again and again: paused, then set aside until the application retries them."""

import io
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
import redis

from faults.servers import Server
from holdfast import (
    AsyncFileFeed,
    AsyncHoldfast,
    Counted,
    DamagedFile,
    FeedFile,
    FileFeed,
    FilesFailed,
    FilesMissed,
    FileTaken,
    Holdfast,
    UnknownConsumer,
)
from holdfast.files.options import MIN_BUDGET

ATTEMPTS = 10
PAUSE_S = 1.0
BOUND_S = 30.0


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=f"tries-{secrets.token_hex(4)}") as hf:
        yield hf


@pytest.fixture
def client(standalone: Server) -> redis.Redis:
    return standalone.shared_client


@pytest.fixture
def feed(hf: Holdfast) -> FileFeed:
    feed = hf.file_feed("logs", consumers=["a", "b"])
    for name in ("bad", "good", "fine"):
        feed.publish(io.BytesIO(name.encode()), name=name)
    return feed


def key(hf: Holdfast, part: str) -> str:
    return f"{hf.namespace}:{{feed:logs}}:{part}"


def read(feed: FileFeed, name: str, *, timeout: float = 0.0) -> Counter[str]:
    """Read all files, fail on each bad one, and return how often each file came."""
    times: Counter[str] = Counter()
    for file in feed.consumer(name).files(timeout=timeout):
        times[file.name] += 1
        with suppress(OSError), file:
            fail(file)
    return times


def fail(file: FeedFile) -> None:
    if file.name.startswith("bad"):
        raise OSError("no space\n left")


def hurry(client: redis.Redis, hf: Holdfast, place: str = "1:1", **changes: int) -> None:
    stored = msgspec.msgpack.decode(client.hget(key(hf, "positions"), place))
    stored |= {"tries": ATTEMPTS - 1, "after_ms": 0, **changes}
    client.hset(key(hf, "positions"), place, msgspec.msgpack.encode(stored))


def test_a_file_that_fails_pauses_and_the_others_go_on(feed: FileFeed) -> None:
    """A few times at once, then not for a second; the other consumer notices nothing."""
    began = time.monotonic()
    times = read(feed, "a")
    if time.monotonic() - began < PAUSE_S:
        assert times == {"bad": 4, "good": 1, "fine": 1}
    times += read(feed, "a", timeout=1.5 * PAUSE_S)
    passed = time.monotonic() - began
    assert times["bad"] <= 4 + passed / PAUSE_S
    assert times["bad"] > 4
    assert [file.name for file in feed.consumer("b").files(timeout=0)] == ["bad", "good", "fine"]


def test_a_file_that_failed_too_often_is_set_aside(
    hf: Holdfast, client: redis.Redis, feed: FileFeed
) -> None:
    feed.seal()
    read(feed, "a")
    assert (feed.status().failed, feed.files(failed=True)) == (0, [])
    hurry(client, hf)
    with pytest.raises(FilesFailed, match=r"everything but 1 file, which failed too often.*retry"):
        read(feed, "a", timeout=BOUND_S)
    [bad] = feed.files(failed=True)
    assert (bad.name, bad.failed, bad.failed_for) == ("bad", True, ("a",))
    assert bad.reason == "OSError: no space\\n left"
    assert bad.waits_for == ("a", "b")
    assert feed.status().failed == 1
    with pytest.raises(FilesFailed):
        read(feed, "a")
    for file in feed.consumer("b").files(timeout=0):
        with file:
            pass
    assert feed.status().state == "sealed"
    assert feed.retry(consumer="b") == feed.retry(name="good") == 0
    with pytest.raises(UnknownConsumer):
        feed.retry(consumer="c")
    assert feed.retry() == 1
    assert feed.retry() == 0
    assert (feed.status().failed, feed.files(failed=True)) == (0, [])
    for file in feed.consumer("a").files(timeout=BOUND_S):
        with file:
            assert file.name == "bad"
    assert feed.status().state == "over"


async def failing(feed: AsyncFileFeed) -> None:
    async for file in feed.consumer("a").files():
        with suppress(OSError):
            async with file:
                raise OSError


async def test_failed_files_are_reported_in_asyncio(
    hf: Holdfast, client: redis.Redis, feed: FileFeed, standalone: Server
) -> None:
    feed.seal()
    read(feed, "a")
    hurry(client, hf)
    async with AsyncHoldfast.from_url(standalone.url, namespace=hf.namespace) as other:
        same = other.file_feed("logs")
        with pytest.raises(FilesFailed):
            await failing(same)
        assert [file.name for file in await same.files(failed=True)] == ["bad"]
        assert await same.retry(consumer="a", name="bad") == 1
        async for file in same.consumer("a").files():
            async with file:
                assert file.name == "bad"


def test_a_file_with_progress_is_not_set_aside(
    hf: Holdfast, client: redis.Redis, feed: FileFeed
) -> None:
    read(feed, "a")
    hurry(client, hf)
    with suppress(OSError), next(feed.consumer("a").files()) as file:
        assert next(file.lines()) == b"bad"
        file.ack(1)
        fail(file)
    hurry(client, hf)
    with suppress(KeyboardInterrupt), next(feed.consumer("a").files()) as file:
        raise KeyboardInterrupt
    assert feed.status().failed == 0
    assert next(feed.consumer("a").files(timeout=0)).name == "bad"


@pytest.mark.parametrize("mode", ["broadcast", "share"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, None])
def test_a_file_that_is_not_finished_pauses_and_is_never_set_aside(
    hf: Holdfast, client: redis.Redis, tmp_path: Path, stop: type[BaseException] | None, mode: str
) -> None:
    """Its reader stops each time, or saves it outside of a `with` block."""
    consumers = {"mode": "share"} if mode == "share" else {"consumers": ["a"]}
    feed = hf.file_feed("logs", **consumers)  # type: ignore[arg-type]
    feed.publish(io.BytesIO(b"x"), name="stopped")
    times, began = 0, time.monotonic()
    while time.monotonic() - began < 2.5 * PAUSE_S:
        for file in feed.consumer("a").files(timeout=0.1):
            times += 1
            if stop is None:
                file.save_to(tmp_path)
                break
            with suppress(stop), file:
                raise stop
    assert 4 <= times <= 4 + (time.monotonic() - began) / PAUSE_S
    hurry(client, hf, tries=0, returns=10 * ATTEMPTS)
    for file in feed.consumer("a").files(timeout=0.1):
        with suppress(KeyboardInterrupt), file:
            raise KeyboardInterrupt
    assert feed.status().failed == 0
    hurry(client, hf, tries=0, returns=0)
    assert [file.name for file in feed.consumer("a").files(timeout=0.1)] == ["stopped"]


def test_a_loss_of_another_file_gives_the_file_back(feed: FileFeed) -> None:
    """A block that fails because of another file leaves nothing held for a lease."""
    with suppress(FileTaken), next(feed.consumer("a").files()):
        raise FileTaken("logs", "good")
    with suppress(FileTaken), next(feed.consumer("a").files()):
        raise FileTaken("other feed", "bad")
    with suppress(DamagedFile), next(feed.consumer("a").files()):
        raise DamagedFile("other feed", "bad", "its end is missing")
    times = Counter(file.name for file in feed.consumer("a").files(timeout=0))
    assert times == {"bad": 1, "good": 1, "fine": 1}


def test_a_consumer_with_only_failing_files_pauses(hf: Holdfast, standalone: Server) -> None:
    feed = hf.file_feed("logs", mode="share")
    for n in range(60):
        feed.publish(io.BytesIO(b""), name=f"bad-{n}" if n < 40 else f"good-{n}")
    times, began = 0, time.monotonic()
    for file in feed.consumer("full").files(timeout=2.0):
        times += 1
        with suppress(OSError), file:
            raise OSError
        if time.monotonic() - began > 2.0:
            break
    assert times <= 10 + (time.monotonic() - began) / PAUSE_S
    rest = [
        file.__enter__().__exit__(None, None, None)
        for file in feed.consumer("sound").files(timeout=0)
    ]
    assert len(rest) >= 40


@pytest.mark.parametrize("mode", ["broadcast", "share"])
def test_a_file_that_was_set_aside_does_not_delay_the_others(
    hf: Holdfast, client: redis.Redis, mode: str
) -> None:
    noise = secrets.token_bytes(MIN_BUDGET // 4)
    consumers = {"mode": "share"} if mode == "share" else {"consumers": ["a"]}
    feed = hf.file_feed("logs", budget=MIN_BUDGET, **consumers)  # type: ignore[arg-type]
    feed.publish(io.BytesIO(noise), name="bad")
    read(feed, "a")
    hurry(client, hf)
    assert read(feed, "a") == {"bad": 1}
    for n in range(3):
        feed.publish(io.BytesIO(noise), name=f"good-{n}", timeout=BOUND_S)
    with pytest.raises(FilesMissed):
        read(feed, "a")
    assert read(feed, "a") == {f"good-{n}": 1 for n in range(3)}
    assert (feed.status().failed, feed.status().consumers[0].missed) == (0, 1)
    feed.seal()
    assert not read(feed, "a", timeout=BOUND_S)
    assert feed.status().state == "over"


def test_saving_and_counting_are_attempts_as_well(
    feed: FileFeed, hf: Holdfast, tmp_path: Path
) -> None:
    """A name that cannot be saved, and a count that fails, are not met thousands of times."""
    (tmp_path / "bad").mkdir()
    times: Counter[str] = Counter()
    for file in feed.consumer("a").files(timeout=0.5):
        times[file.name] += 1
        with suppress(OSError), file:
            file.save_to(tmp_path)
    assert times["bad"] <= 5
    assert (times["good"], times["fine"]) == (1, 1)

    def give_up(report: object) -> None:
        raise ZeroDivisionError

    began, times = time.monotonic(), Counter()
    while time.monotonic() - began < 1.5:
        with suppress(ZeroDivisionError):
            source = feed.consumer("b")
            times["run"] += 1
            hf.tally("t").aggregate(
                source, key=lambda _: Counted("2011-10-10", {}), progress=give_up
            )
    assert times["run"] <= 20
