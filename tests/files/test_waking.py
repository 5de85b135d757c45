"""Waiting: a notification wakes each waiter, which sends almost no commands meanwhile."""

import io
import random
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from faults.servers import Server
from faults.waiting import eventually
from holdfast import BudgetExceeded, FileFeed, Holdfast
from holdfast.files.options import MIN_BUDGET

NOISE = random.Random(8).randbytes(3 * MIN_BUDGET)
NEVER_S = 1000.0


@pytest.fixture
def hf(standalone: Server) -> Iterator[Holdfast]:
    with Holdfast.from_url(standalone.url, namespace=f"waking-{secrets.token_hex(4)}") as hf:
        yield hf


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


@pytest.fixture
def only_by_notification(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("publisher.RECHECK_S", "session.POLL_S", "chunk_reader.POLL_S"):
        monkeypatch.setattr(f"holdfast.files._sync.{name}", NEVER_S)


def taken(feed: FileFeed, name: str) -> dict[str, int]:
    """Return how many bytes of each file a consumer gets until the feed is over."""
    found: dict[str, int] = {}
    for file in feed.consumer(name).files():
        with file:
            for block in file.blocks(raw=True):
                file.ack(block.end)
            found[file.name] = file.position
    return found


@pytest.mark.usefixtures("only_by_notification")
def test_all_are_woken(hf: Holdfast, threads: ThreadPoolExecutor) -> None:
    """Files, new chunks and the seal wake the consumers; free budget wakes the publisher."""
    feed = hf.file_feed("logs", consumers=["a", "b"], budget=MIN_BUDGET)
    feed.publish(io.BytesIO(b"first\n"), name="first")
    reading = [threads.submit(taken, feed, name) for name in ("a", "b")]
    eventually(lambda: all(each.files == 1 for each in feed.status().consumers))
    publishing = threads.submit(feed.publish, io.BytesIO(NOISE), name="big", compress=None)
    assert publishing.result(60).size == len(NOISE)
    feed.seal()
    assert [each.result(60) for each in reading] == [{"first": 6, "big": len(NOISE)}] * 2


def calls(client: redis.Redis) -> int:
    """Return how many scripts all clients have called so far."""
    return int(client.info("commandstats")["cmdstat_evalsha"]["calls"])


def test_a_waiter_sends_almost_no_commands(hf: Holdfast, standalone: Server) -> None:
    """The textbook's consumers asked eight thousand times a second, its publisher four times."""
    feed = hf.file_feed("logs", consumers=["a"], budget=MIN_BUDGET)
    with pytest.raises(BudgetExceeded):
        feed.publish(io.BytesIO(NOISE), name="big", timeout=0)
    with standalone.client() as client:
        before = calls(client)
        with pytest.raises(BudgetExceeded):
            feed.publish(io.BytesIO(NOISE), name="big", timeout=1.5)
        assert calls(client) - before <= 10
        feed.abort()
        other = hf.file_feed("other", consumers=["a"])
        other.publish(io.BytesIO(b""), name="empty")
        assert [file.name for file in other.consumer("a").files(timeout=0)] == ["empty"]
        files = other.consumer("a").files(timeout=1.5)
        with next(files):
            pass
        before = calls(client)
        assert not list(files)
        assert calls(client) - before <= 10
