"""A server that restarts from an older state: every feed still comes to its end."""

import io
import secrets
import threading
import time
from typing import Any

import pytest

from faults.halves import Half
from faults.rollback import Rollback
from faults.waiting import eventually
from holdfast import FeedLost, FileTaken, HoldfastError

LEASE_S = 1.0
READ_S = 40.0
DATA = b"a line\n" * 50_000


class ConsumerThread:
    """A consumer that reads until the feed ends; `gate` can pause it within a file."""

    def __init__(self, half: Half, feed: Any) -> None:
        self._half = half
        self._feed = feed
        self.began: list[str] = []
        self.ended: list[str] = []
        self.errors: list[BaseException] = []
        self.gate = threading.Event()
        self.gate.set()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        until = time.monotonic() + 3 * READ_S
        while time.monotonic() < until:
            try:
                self._half.do(self._read_async()) if self._half.name == "async" else self._read()
            except FeedLost as error:
                self.errors.append(error)
                return
            except HoldfastError as error:
                self.errors.append(error)
                time.sleep(0.05)
            else:
                return

    def _read(self) -> None:
        for file in self._feed.consumer("keeper").files():
            with file:
                self._note(file.name, b"".join(block.data for block in file.blocks(raw=True)))
                self.gate.wait(READ_S)
            self.ended.append(file.name)

    async def _read_async(self) -> None:
        import asyncio

        async for file in self._feed.consumer("keeper").files():
            async with file:
                data = [block.data async for block in file.blocks(raw=True)]
                self._note(file.name, b"".join(data))
                await asyncio.to_thread(self.gate.wait, READ_S)
            self.ended.append(file.name)

    def _note(self, name: str, data: bytes) -> None:
        assert data == DATA
        self.began.append(name)


class Setup:
    """A feed of one consumer, with a client for the publisher and one for the reader."""

    def __init__(self, half: Half, rollback: Rollback) -> None:
        url, namespace = f"{rollback.server.url}?socket_timeout=1", f"old-{secrets.token_hex(4)}"
        self.half = half
        self.feed, self.other = (
            half.client(url, namespace).file_feed(
                "logs", consumers=["keeper"], budget=64 << 20, lease=LEASE_S
            )
            for _ in range(2)
        )

    def publish(self, name: str) -> None:
        """Publish a file; retry on `FileTaken` for at most `READ_S` seconds."""
        until = time.monotonic() + READ_S
        while True:
            try:
                self.half.insist(lambda: self.feed.publish(io.BytesIO(DATA), name=name))
            except FileTaken:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def seal(self) -> None:
        self.half.insist(self.feed.seal)


@pytest.fixture
def setup(half: Half, rollback: Rollback) -> Setup:
    return Setup(half, rollback)


@pytest.mark.parametrize("saved", ["published", "claimed", "acknowledged", "second published"])
def test_a_feed_ends_after_its_reader_has_gone_on(
    setup: Setup, rollback: Rollback, saved: str
) -> None:
    setup.publish("a")
    if saved == "published":
        rollback.save()
    reader = ConsumerThread(setup.half, setup.other)
    reader.gate.clear()
    eventually(lambda: reader.began == ["a"])
    if saved == "claimed":
        rollback.save()
    reader.gate.set()
    eventually(lambda: reader.ended == ["a"])
    if saved == "acknowledged":
        rollback.save()
    setup.publish("b")
    if saved == "second published":
        rollback.save()
    eventually(lambda: reader.ended == ["a", "b"])
    rollback.restart()
    for name in ("a", "b", "c"):
        setup.publish(name)
    setup.seal()
    reader.thread.join(READ_S)
    assert not reader.thread.is_alive(), reader.errors
    assert {"a", "b", "c"} <= set(reader.ended)


def test_a_feed_that_was_sealed_and_is_not_any_more_can_be_sealed_again(
    setup: Setup, rollback: Rollback
) -> None:
    setup.publish("a")
    rollback.save()
    setup.seal()
    rollback.restart()
    reader = ConsumerThread(setup.half, setup.other)
    eventually(lambda: "a" in reader.ended, READ_S)
    setup.seal()
    reader.thread.join(READ_S)
    assert not reader.thread.is_alive(), reader.errors


def test_a_file_that_is_read_while_the_server_restarts_is_read_to_its_end(
    setup: Setup, rollback: Rollback
) -> None:
    """The older state does not know that it was claimed."""
    setup.publish("a")
    rollback.save()
    reader = ConsumerThread(setup.half, setup.other)
    reader.gate.clear()
    eventually(lambda: reader.began == ["a"])
    rollback.restart()
    reader.gate.set()
    eventually(lambda: "a" in reader.ended, READ_S, reason=f"{reader.errors}")
    setup.seal()
    reader.thread.join(READ_S)
    assert not reader.thread.is_alive(), reader.errors


def test_a_feed_that_was_begun_since_then_is_begun_again(setup: Setup, rollback: Rollback) -> None:
    rollback.save()
    setup.publish("a")
    reader = ConsumerThread(setup.half, setup.other)
    eventually(lambda: reader.ended == ["a"])
    rollback.restart()
    setup.publish("b")
    setup.seal()
    reader.thread.join(READ_S)
    assert not reader.thread.is_alive(), reader.errors
    lost = any(isinstance(error, FeedLost) for error in reader.errors)
    assert lost or "b" in reader.ended
