"""The reply path, with random replies in random slices, whole and damaged."""

import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from redis import connection as flavour

from faults.servers import Server
from holdfast.core.connections.outcome import ErrorReply
from holdfast.core.connections.settings import Settings
from holdfast.core.connections.stream import _sync
from holdfast.core.connections.stream._async import AsyncStream, open_stream
from holdfast.core.connections.stream._sync import Stream

ROUNDS = 100


def some_reply(dice: random.Random, depth: int = 0) -> tuple[Any, bytes]:
    """A value as the reader tells it, and as the server writes it."""
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
    """*data* in pieces of any length, single bytes among them."""
    pieces, longest = list[bytes](), dice.choice([1, 3, 100, 10_000])
    while data:
        length = dice.randint(1, longest)
        pieces.append(data[:length])
        data = data[length:]
    return pieces


def plain(reply: Any) -> Any:
    """*reply* with what is said in place of the errors that say it."""
    if isinstance(reply, list):
        return [plain(part) for part in reply]
    return str(reply) if isinstance(reply, ErrorReply) else reply


def round_of(dice: random.Random) -> tuple[list[Any], bytes]:
    """Some replies, and all that the server writes."""
    replies = [some_reply(dice) for _ in range(dice.randrange(1, 20))]
    return [value for value, _ in replies], b"".join(written for _, written in replies)


async def opened(server: Server, heard: list[Any], ends: list[str]) -> AsyncStream:
    """A stream that is told by the test what comes, and not by its server."""
    settings = Settings.from_url(server.url)
    stream = await open_stream(settings, settings.addresses[0], heard.extend, ends.append)
    assert isinstance(stream, AsyncStream)
    return stream


async def test_all_replies_are_heard_in_order(standalone: Server, seed: int) -> None:
    dice, heard, ends = random.Random(seed), list[Any](), list[str]()
    stream = await opened(standalone, heard, ends)
    for _ in range(ROUNDS):
        values, written = round_of(dice)
        for piece in sliced(written, dice):
            stream.data_received(piece)
        assert plain(heard) == values
        heard.clear()
    assert not ends
    await stream.close()


async def test_after_what_is_no_reply_nothing_is_heard(standalone: Server, seed: int) -> None:
    dice, ended = random.Random(seed), 0
    for _ in range(ROUNDS // 10):
        heard, ends = list[Any](), list[str]()
        stream = await opened(standalone, heard, ends)
        stream.data_received(b"+OK\r\n" + dice.choice([b"OK\r\n", b"\x00", b"$x\r\n"]))
        for piece in sliced(round_of(dice)[1], dice):
            stream.data_received(piece)
        assert heard == [b"OK"]
        ended += len(ends)
        await stream.close()
    assert ended == ROUNDS // 10


def test_all_replies_are_read_in_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(seed)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        settings = Settings.from_url(f"redis://127.0.0.1:{server.getsockname()[1]}")
        connection = settings.connection(flavour, settings.addresses[0])
        connection.driver_info = None  # so that it says nothing by itself
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
