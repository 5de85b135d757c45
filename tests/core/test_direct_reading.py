"""The only waiting thread of a process reads its messages itself. No other waiter misses one."""

import errno
import random
import secrets
import threading
from asyncio.trsock import TransportSocket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from typing import NoReturn

import pytest
import redis

from faults.interrupts import interrupted_at
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually
from holdfast.core.concurrency import direct_reading
from holdfast.core.concurrency._sync.primitives import AutoResetEvent, Event
from holdfast.core.concurrency.direct_reading import DirectReading
from holdfast.core.names import Namespace, Unit
from holdfast.core.notifier import Notifier
from holdfast.core.transport.settings import Settings

PATIENCE_S = 30.0
STEPS = 70
"""A wait has fewer steps: calls and lines."""

INTERRUPTED_STEPS = 8
"""Steps that a run interrupts, chosen at random."""


class Listener:
    """Notes each message, and which thread processed it."""

    passive = False

    def __init__(self) -> None:
        self.event = AutoResetEvent()
        self.subscribed = Event()
        self.reading: DirectReading | None = None
        self.messages: list[bytes] = []
        self.threads: list[int] = []

    def connected(self, reading: DirectReading | None) -> bool:
        self.reading = reading
        return True

    def disconnected(self) -> None:
        pass

    def notify(self, message: bytes = b"") -> None:
        if message:
            self.threads.append(threading.get_ident())
            self.messages.append(message)
            self.event.set()
        else:
            self.subscribed.set()


class Channel:
    """A subscription, and a client that publishes to it."""

    def __init__(self, notifier: Notifier, client: redis.Redis, unit: Unit, name: str) -> None:
        self.listener = Listener()
        self.subscription = notifier.subscribe(unit, self.listener)
        self.name = self.subscription.__enter__()
        self._client = client
        self._numbers = count()
        assert self.listener.subscribed.wait(PATIENCE_S), name

    def publish(self) -> bytes:
        message = b"%d" % next(self._numbers)
        self._client.execute_command("SPUBLISH", self.name, message)
        return message

    def wait(self, timeout_s: float = PATIENCE_S) -> bool:
        assert self.listener.reading is not None
        return self.listener.reading.wait(self.listener.event, timeout_s)

    def receives(self, timeout_s: float = 1.0) -> bool:
        """Publish a message, and return whether it is received."""
        message = self.publish()
        return self.wait(timeout_s) and message in self.listener.messages

    def is_read_here(self) -> bool:
        """Return whether this thread processes a new message."""
        return self.receives() and self.listener.threads[-1] == threading.get_ident()


class Channels:
    """A notifier, and channels on its connection."""

    def __init__(self, url: str, server: Server) -> None:
        self.stack = ExitStack()
        self.notifier = Notifier(Settings.from_url(url))
        self.stack.callback(self.notifier.close)
        self.client = self.stack.enter_context(redis.Redis.from_url(server.url))
        self.unit = Namespace.of(secrets.token_hex(4)).unit("lock", "x")

    def open(self, name: str = "one") -> Channel:
        channel = Channel(self.notifier, self.client, self.unit, name)
        self.stack.callback(channel.subscription.__exit__, None, None, None)
        return channel


@pytest.fixture
def channels(standalone: Server) -> Iterator[Channels]:
    opened = Channels(standalone.url, standalone)
    with opened.stack:
        yield opened


def is_loop_thread(ident: int) -> bool:
    return any(each.ident == ident and each.name == "holdfast" for each in threading.enumerate())


def in_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def test_the_only_waiting_thread_reads_itself(channels: Channels) -> None:
    channel = channels.open()
    eventually(channel.is_read_here)
    for _ in range(20):
        assert channel.is_read_here()
    assert channel.listener.messages == sorted(channel.listener.messages, key=int)


def test_the_loop_reads_for_two_threads(channels: Channels) -> None:
    first, second = channels.open("first"), channels.open("second")
    eventually(first.is_read_here)
    waits = in_thread(second.wait)
    eventually(lambda: first.receives() and is_loop_thread(first.listener.threads[-1]))
    second.publish()
    waits.join(PATIENCE_S)
    assert not waits.is_alive()
    eventually(first.is_read_here)


def test_the_reader_passes_on_messages_for_others(channels: Channels) -> None:
    """It reads for all: a message for another waiter may arrive before the loop reads again."""
    first, second = channels.open("first"), channels.open("second")
    eventually(first.is_read_here)
    for _ in range(10):
        message = second.publish()
        assert first.is_read_here()
        assert second.listener.event.take()
        assert second.listener.messages[-1] == message


def test_a_thread_that_reads_wakes_when_its_event_is_set(channels: Channels) -> None:
    channel = channels.open()
    for _ in range(5):
        eventually(channel.is_read_here)
        timer = threading.Timer(0.05, channel.listener.event.set)
        timer.start()
        assert channel.wait(10 * PATIENCE_S)
        timer.join()


def test_a_wait_ends_at_its_timeout(channels: Channels) -> None:
    channel = channels.open()
    eventually(channel.is_read_here)
    assert not channel.wait(0.05)
    assert not channel.wait(0)
    assert channel.is_read_here()


def test_the_loop_reads_if_others_listen(channels: Channels) -> None:
    """They wait for the loop, so a thread that reads now and then is not enough for them."""
    channel = channels.open()
    eventually(channel.is_read_here)
    flag = Event()
    with channels.notifier.listen(channels.unit, flag) as other:
        assert flag.wait(PATIENCE_S)
        flag.clear()
        assert not any(channel.is_read_here() for _ in range(20))
        channels.client.execute_command("SPUBLISH", other, "")
        assert flag.wait(PATIENCE_S)
    eventually(channel.is_read_here)


def test_the_loop_takes_back_what_no_thread_reads(
    channels: Channels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.core.pubsub._PING_S", 0.05)
    channel = channels.open()
    eventually(channel.is_read_here)
    message = channel.publish()
    eventually(lambda: message in channel.listener.messages)
    assert is_loop_thread(channel.listener.threads[-1])


def test_a_lost_connection_is_replaced(standalone: Server, proxy: Proxy) -> None:
    channels = Channels(proxy.url, standalone)
    with channels.stack:
        channel = channels.open()
        for _ in range(3):
            eventually(channel.is_read_here)
            channel.listener.subscribed.clear()
            waits = in_thread(lambda: channel.wait(1))
            with proxy.refuse():
                waits.join(PATIENCE_S)
            assert channel.listener.subscribed.wait(PATIENCE_S)


@pytest.mark.parametrize("call", ["dup", "socketpair"])
def test_the_loop_reads_on_if_too_many_files_are_open(
    channels: Channels, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError(errno.EMFILE, "too many open files")

    channel = channels.open()
    place = TransportSocket if call == "dup" else direct_reading.socket
    with monkeypatch.context() as patched:
        patched.setattr(place, call, fail)
        assert all(channel.receives(PATIENCE_S) for _ in range(20))
        assert all(map(is_loop_thread, channel.listener.threads))
    eventually(channel.is_read_here)


def test_a_client_that_closes_ends_the_wait(channels: Channels) -> None:
    channel = channels.open()
    eventually(channel.is_read_here)
    waits = in_thread(lambda: channel.wait(1))
    channels.notifier.close()
    waits.join(PATIENCE_S)
    assert not waits.is_alive()


def test_an_exception_at_any_line_ends_no_loan_for_good(
    channels: Channels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.core.pubsub._PING_S", 0.05)
    monkeypatch.setattr("holdfast.core.concurrency.direct_reading._LONGEST_POLL_S", 0.02)
    channel = channels.open()

    def wait() -> None:
        channel.publish()
        channel.wait()

    for step in random.sample(range(1, STEPS), INTERRUPTED_STEPS):
        eventually(channel.is_read_here)
        place = interrupted_at(step, wait, files=direct_reading.__file__)
        try:
            eventually(channel.is_read_here)
        except AssertionError as error:
            error.add_note(f"it was interrupted at {place}")
            raise


def test_a_wait_has_about_so_many_steps(channels: Channels) -> None:
    """The test above reaches all of them."""
    channel = channels.open()
    eventually(channel.is_read_here)
    channel.publish()
    assert interrupted_at(STEPS, channel.wait, files=direct_reading.__file__) is None
