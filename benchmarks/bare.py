"""Bare connections, on asyncio, blocking, and shared by threads: what a client could do at most.

They have no deadlines, no cancellation, no reconnection and no cluster.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import hiredis


class BareConnection(asyncio.Protocol):
    """One connection on asyncio: one write for all commands of a turn of the loop.

    Made by `opened`.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = hiredis.Reader()
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._packed: list[bytes] = []
        self._transport: Any = None

    @classmethod
    async def opened(cls, url: str) -> BareConnection:
        """Connected to the server of *url*."""
        where = urlsplit(url)
        loop = asyncio.get_running_loop()
        _, caller = await loop.create_connection(cls, where.hostname, where.port)
        return caller

    def ask(self, *command: str | int | bytes) -> asyncio.Future[Any]:
        """Send *command*, and return a future of its reply."""
        future = self._loop.create_future()
        if not self._packed:
            self._loop.call_soon(self._send)
        self._packed.append(hiredis.pack_command(command))
        self._waiting.append(future)
        return future

    def close(self) -> None:
        """Hang up."""
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            future = self._waiting.popleft()
            if isinstance(reply, Exception):
                future.set_exception(reply)
            else:
                future.set_result(reply)

    def _send(self) -> None:
        packed, self._packed = self._packed, []
        self._transport.write(b"".join(packed))


class BareSocket:
    """A blocking connection: a write for each call, and a read for its reply.

    Args:
        url: of the server.
        protocol: 3 to receive messages of `SUBSCRIBE` between replies.
    """

    def __init__(self, url: str, protocol: int = 2) -> None:
        where = urlsplit(url)
        self._socket = socket.create_connection((where.hostname or "", where.port or 0))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()
        self.ask("HELLO", protocol)

    def ask(self, *command: str | int | bytes) -> Any:
        """Send *command*, and return the reply."""
        self._socket.sendall(hiredis.pack_command(command))
        return self.reply()

    def ask_all(self, packed: Sequence[bytes]) -> list[Any]:
        """Send packed commands in one write, and return the replies."""
        self._socket.sendall(b"".join(packed))
        return [self.reply() for _ in packed]

    def learn(self, script: str) -> str:
        """Have the server learn *script*, and return its name for `EVALSHA`."""
        return bytes(self.ask("SCRIPT", "LOAD", script)).decode()

    def reply(self) -> Any:
        """Wait for the next reply, or message."""
        while (reply := self._reader.gets()) is False:
            self._reader.feed(self._socket.recv(65536))
        if isinstance(reply, Exception):
            raise reply
        return reply

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


class BareThreads:
    """Threads that share one connection: the thread that gets it sends what all of them ask."""

    def __init__(self, url: str) -> None:
        self._socket = BareSocket(url)
        self._turn = threading.Lock()
        self._waiting: list[tuple[bytes, list[Any]]] = []

    def ask(self, *command: str | int | bytes) -> Any:
        """Send *command*, and return the reply."""
        reply: list[Any] = []
        waiting = hiredis.pack_command(command), reply
        self._waiting.append(waiting)
        while not reply:
            with self._turn:
                if not reply:
                    self._send()
        return reply[0]

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _send(self) -> None:
        sent = self._waiting.copy()
        del self._waiting[: len(sent)]
        replies = self._socket.ask_all([packed for packed, _ in sent])
        for (_, reply), found in zip(sent, replies, strict=True):
            reply.append(found)
