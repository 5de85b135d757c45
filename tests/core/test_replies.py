"""Replies arrive in order, however they are cut."""

import contextlib
import random
import secrets
import select
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from redis import Redis
from redis import connection as flavour

from faults.servers import ANONYMOUS, Server
from holdfast import OutcomeUnknown
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport._async.stream import AsyncStream, open_stream
from holdfast.core.transport._sync import stream as _sync
from holdfast.core.transport._sync.stream import Stream
from holdfast.core.transport.outcome import ErrorReply
from holdfast.core.transport.redispy import socket_of
from holdfast.core.transport.request import Request
from holdfast.core.transport.settings import Settings

# The bytes of blocking connections

ADD = Script.of("test/add", "#!lua\nreturn redis.call('INCR', KEYS[1])")


def test_what_has_come_is_never_too_late(standalone: Server) -> None:
    settings = Settings.from_url(standalone.url)
    connection = settings.connection(flavour, settings.addresses[0])
    connection.connect()
    stream = Stream(connection)
    stream.write(Request.of("PING").payload)
    select.select([socket_of(connection)], [], [], 60)
    assert stream.read(time.monotonic() - 1) == b"PONG"
    stream.close()


@contextmanager
def talker(beginning: bytes, crumb: bytes) -> Iterator[str]:
    """Yield the URL of a server that sends *beginning*, and then repeats *crumb* forever."""

    def talk(peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            peer.recv(4096)
            peer.sendall(beginning)
            while crumb:
                peer.sendall(crumb)
            peer.recv(1)  # until it hangs up

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: talk(server.accept()[0]))
        yield f"redis://127.0.0.1:{server.getsockname()[1]}?socket_timeout=60"


@pytest.mark.parametrize(
    ("beginning", "crumb"),
    [(b"$5\r\nhe", b""), (b"$400000000\r\n", b"x")],
    ids=["it stops", "it has no end"],
)
def test_a_reply_in_crumbs_has_no_longer_than_any_other(beginning: bytes, crumb: bytes) -> None:
    with talker(beginning, crumb) as url:
        settings = Settings.from_url(url)
        connection = settings.connection(flavour, settings.addresses[0])
        vars(connection).update(ANONYMOUS)  # so that it sends nothing by itself
        connection.connect()
        stream = Stream(connection)
        stream.write(Request.of("PING").payload)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            stream.read(began + 0.1)
        assert time.monotonic() - began < 30
        stream.close()


def test_a_wait_in_the_kernel_ends_with_the_timeout() -> None:
    """With as much time as the connection has, the reader does not poll."""
    with talker(b"$5\r\nhe", b"") as url:
        settings = Settings.from_url(url.replace("=60", "=0.3"))
        connection = settings.connection(flavour, settings.addresses[0])
        vars(connection).update(ANONYMOUS)
        connection.connect()
        stream = Stream(connection)
        stream.write(Request.of("PING").payload)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            stream.read(began + 0.3)
        assert 0.3 <= time.monotonic() - began < 30
        stream.close()


class Replaced(socket.socket):
    """Another class, as libraries for green threads put in place of the standard one."""


def test_only_plain_sockets_wait_in_the_kernel() -> None:
    with Replaced() as replaced, socket.socket() as plain:
        assert _sync._waiting_recv_s(replaced, 5.0) is None
        assert _sync._waiting_recv_s(plain, 10_000_000.0) is None
        expected = None if sys.platform != "linux" else 4.98
        assert _sync._waiting_recv_s(plain, 5.0) == expected


class Fragile(flavour.Connection):
    """A class of the user's own that fails as no other does."""

    failing = False

    def read_response(self, *args: Any, **options: Any) -> Any:
        reply = super().read_response(*args, **options)
        if Fragile.failing:
            raise LookupError("reading failed")
        return reply


def test_whatever_a_class_of_the_user_raises_it_may_have_been_applied(
    standalone: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = Namespace.of(secrets.token_hex(4)).unit("counter", "x")
    with Redis.from_url(standalone.url, connection_class=Fragile) as client:
        caller = Caller(Settings.of(client))
        assert caller.call(ADD, unit, [unit.key("n")], []) == 1
        monkeypatch.setattr(Fragile, "failing", True)
        with pytest.raises(OutcomeUnknown, match="reading failed"):
            caller.call(ADD, unit, [unit.key("n")], [])
        monkeypatch.setattr(Fragile, "failing", False)
        assert caller.call(ADD, unit, [unit.key("n")], []) == 3
        caller.close()


# The reply path, with random replies in random slices, whole and damaged

ROUNDS = 100


def some_reply(dice: random.Random, depth: int = 0) -> tuple[Any, bytes]:
    kind = dice.randrange(6 if depth < 3 else 5)
    if kind == 0:
        number = dice.randrange(-(2**63), 2**63)
        return number, b":%d\r\n" % number
    if kind == 1:
        return None, dice.choice([b"$-1\r\n", b"*-1\r\n"])
    if kind == 2:
        word = dice.choice(["OK", "PONG", "", "x" * 300])
        return word.encode(), f"+{word}\r\n".encode()
    if kind == 3:
        word = f"ERR {dice.random()}"
        return word, f"-{word}\r\n".encode()
    if kind == 4:
        data = dice.randbytes(dice.choice([0, 1, 2, 20, 5000]))
        return data, b"$%d\r\n%b\r\n" % (len(data), data)
    parts = [some_reply(dice, depth + 1) for _ in range(dice.randrange(5))]
    return [part[0] for part in parts], b"*%d\r\n" % len(parts) + b"".join(p[1] for p in parts)


def sliced(data: bytes, dice: random.Random) -> list[bytes]:
    """Split *data* into pieces of random lengths, single bytes included."""
    pieces, longest = list[bytes](), dice.choice([1, 3, 100, 10_000])
    while data:
        length = dice.randint(1, longest)
        pieces.append(data[:length])
        data = data[length:]
    return pieces


def plain(reply: Any) -> Any:
    if isinstance(reply, list):
        return [plain(part) for part in reply]
    return str(reply) if isinstance(reply, ErrorReply) else reply


def round_of(dice: random.Random) -> tuple[list[Any], bytes]:
    replies = [some_reply(dice) for _ in range(dice.randrange(1, 20))]
    return [value for value, _ in replies], b"".join(written for _, written in replies)


async def opened(server: Server, received: list[Any], ends: list[str]) -> AsyncStream:
    settings = Settings.from_url(server.url)
    stream = await open_stream(settings, settings.addresses[0], received.extend, ends.append)
    assert isinstance(stream, AsyncStream)
    return stream


def receive(stream: AsyncStream, data: bytes) -> None:
    """Do as a transport does that has read *data*."""
    stream.get_buffer(-1)[: len(data)] = data
    stream.buffer_updated(len(data))


async def test_all_replies_are_received_in_order(standalone: Server, seed: int) -> None:
    dice, received, ends = random.Random(seed), list[Any](), list[str]()
    stream = await opened(standalone, received, ends)
    for _ in range(ROUNDS):
        values, written = round_of(dice)
        for piece in sliced(written, dice):
            receive(stream, piece)
        assert plain(received) == values
        received.clear()
    assert not ends
    await stream.close()


async def test_after_what_is_no_reply_nothing_is_received(standalone: Server, seed: int) -> None:
    dice, ended = random.Random(seed), 0
    for _ in range(ROUNDS // 10):
        received, ends = list[Any](), list[str]()
        stream = await opened(standalone, received, ends)
        receive(stream, b"+OK\r\n" + dice.choice([b"OK\r\n", b"\x00", b"$x\r\n"]))
        for piece in sliced(round_of(dice)[1], dice):
            receive(stream, piece)
        assert received == [b"OK"]
        ended += len(ends)
        await stream.close()
    assert ended == ROUNDS // 10


def test_all_replies_are_read_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        settings = Settings.from_url(f"redis://127.0.0.1:{server.getsockname()[1]}")
        connection = settings.connection(flavour, settings.addresses[0])
        vars(connection).update(ANONYMOUS)  # so that it sends nothing by itself
        connection.connect()
        peer, stream = server.accept()[0], Stream(connection)
        for _ in range(ROUNDS // 4):
            monkeypatch.setattr(_sync, "_CHUNK", dice.choice([1, 2, 7, 100, 65536]))
            values, written = round_of(dice)
            sent = pool.submit(peer.sendall, written)
            until = time.monotonic() + 60
            assert [plain(stream.read(until)) for _ in values] == values
            sent.result()
        stream.close()
        peer.close()
