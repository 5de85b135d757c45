"""A bare connection: one connection, one write for all commands of a loop turn, replies in order.

What a client could do at most: no deadlines, no cancellation, no cluster, no push messages.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any
from urllib.parse import urlsplit

import hiredis


class BareConnection(asyncio.Protocol):
    """Made by `opened`."""

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

    def ask(self, *command: str | int) -> asyncio.Future[Any]:
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
