"""One subscription connection, at a server that does what the test wants."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import hiredis
import pytest
from redis.crc import key_slot

from holdfast.core.concurrency._async.background_task import cancel_and_wait
from holdfast.core.concurrency.direct_reading import DirectReading
from holdfast.core.pubsub import PubSubConnection
from holdfast.core.transport.settings import Settings

CONFIRMED = b"*3\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n:1\r\n"

Answer = Callable[[list[bytes], asyncio.StreamWriter], None]


def confirm(kind: bytes, channel: bytes) -> bytes:
    return CONFIRMED % (len(kind), kind, len(channel), channel)


@asynccontextmanager
async def line_to(answer: Answer, timeout_s: float) -> AsyncIterator[PubSubConnection]:
    """Yield a connection to a server that replies with *answer*."""
    hung_up = asyncio.Event()

    async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        commands = hiredis.Reader()
        with contextlib.suppress(ConnectionResetError):  # the client has closed it
            while data := await reader.read(65536):
                commands.feed(data)
                while (command := commands.gets()) is not False:
                    if command[0] == b"CLIENT":
                        writer.write(b"+OK\r\n")
                    else:
                        answer(command, writer)
        writer.close()
        hung_up.set()

    server = await asyncio.start_server(welcome, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    settings = Settings.from_url(f"redis://{host}:{port}?socket_timeout={timeout_s}")
    line = PubSubConnection(settings, (host, port))
    while line.closed:  # where the machine stands still it is too late
        with contextlib.suppress(ConnectionError):
            await line.open()
    try:
        yield line
    finally:
        await line.close()
        await hung_up.wait()
        server.close()


class Subscriber:
    def __init__(self, *, passive: bool = False) -> None:
        self.passive = passive
        self.notified = asyncio.Event()

    def notify(self, message: bytes = b"") -> None:
        del message
        self.notified.set()

    def connected(self, reading: DirectReading | None) -> bool:
        return reading is not None


async def test_the_server_ends_one_subscription_and_the_others_stay() -> None:
    def answer(command: list[bytes], writer: asyncio.StreamWriter) -> None:
        kind, channel = command
        if kind == b"SUNSUBSCRIBE":
            writer.write(b"-MOVED 12 127.0.0.1:1\r\n")
        else:
            writer.write(confirm(b"ssubscribe", channel))
            if channel == b"moves":
                writer.write(confirm(b"sunsubscribe", channel))

    async with line_to(answer, 5) as line:
        subscriber = Subscriber()
        stays = asyncio.create_task(line.subscribe("stays", subscriber))
        await asyncio.wait_for(subscriber.notified.wait(), 20)
        assert await line.subscribe("moves", Subscriber())
        await asyncio.sleep(0.2)
        assert not line.closed
        assert not stays.done()
        stays.cancel()


@pytest.mark.parametrize("left", [False, True])
async def test_who_is_sent_elsewhere_goes_alone(left: bool) -> None:
    def answer(command: list[bytes], writer: asyncio.StreamWriter) -> None:
        kind, channel = command
        if channel == b"moves" and (kind == b"SUNSUBSCRIBE") is left:
            writer.write(b"-MOVED %d 127.0.0.1:1\r\n" % key_slot(channel))
        else:
            writer.write(confirm(kind.lower(), channel))

    async with line_to(answer, 30) as line:
        subscriber = Subscriber()
        stays = asyncio.create_task(line.subscribe("stays", subscriber))
        await asyncio.wait_for(subscriber.notified.wait(), 20)
        if left:
            await come_and_go(line, "moves")
        else:
            assert not await asyncio.wait_for(line.subscribe("moves", Subscriber()), 20)
        await come_and_go(line, "after")
        assert not line.closed
        assert not stays.done()
        await cancel_and_wait(stays)


async def come_and_go(line: PubSubConnection, channel: str) -> None:
    """Subscribe, wait for the server to confirm it, and leave."""
    subscriber = Subscriber()
    listening = asyncio.create_task(line.subscribe(channel, subscriber))
    await asyncio.wait_for(subscriber.notified.wait(), 20)
    await cancel_and_wait(listening)


async def test_a_quiet_line_is_asked_before_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.core.pubsub._PING_S", 0.2)
    loop = asyncio.get_running_loop()

    def answer(command: list[bytes], writer: asyncio.StreamWriter) -> None:
        if command[0] == b"SSUBSCRIBE":
            pause_s = 0.5 if command[1] == b"later" else 0.0
            loop.call_later(pause_s, writer.write, confirm(b"ssubscribe", command[1]))
        elif command[0] == b"PING":
            loop.call_later(0.5, writer.write, b"*2\r\n$4\r\npong\r\n$0\r\n\r\n")

    async with line_to(answer, 1.5) as line:
        first = asyncio.create_task(line.subscribe("first", Subscriber()))
        await asyncio.sleep(2.5)
        assert not line.closed
        subscriber = Subscriber(passive=True)
        later = asyncio.create_task(line.subscribe("later", subscriber))
        await asyncio.wait_for(subscriber.notified.wait(), 20)
        await asyncio.sleep(1)
        assert not line.closed
        assert not first.done()
        first.cancel()
        later.cancel()


async def test_a_line_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.core.pubsub._PING_S", 0.1)

    def answer(command: list[bytes], writer: asyncio.StreamWriter) -> None:
        if command[0] == b"SSUBSCRIBE":
            writer.write(confirm(b"ssubscribe", command[1]))

    async with line_to(answer, 0.5) as line:
        assert await asyncio.wait_for(line.subscribe("one", Subscriber(passive=True)), 20)
        assert line.closed
