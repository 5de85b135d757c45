"""Send the events of a task as Server-Sent Events until the task has ended.

The gateway fetches events only after the client has read the earlier ones, so a slow client costs
the memory of one page of events. A client that reads nothing for `STALL_S` loses the connection.
When it connects again with `Last-Event-ID`, it gets the later events that the server still keeps,
and a frame `gap` for events that are lost.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack, suppress
from typing import Any, Final

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ... import AsyncTaskHandle, ClientClosed, Gap, HoldfastError, ServerUnavailable, TaskEvent
from ..problems import Problem
from . import costs
from .message_schema import iso_time
from .user_request import UserRequest
from .waiting import first

KEEP_ALIVE_S: Final = 15.0
"""Seconds between two heartbeats. The gateway checks the token before each."""

STALL_S: Final = 20.0
"""Seconds that a client may take to read what was written, before it loses the connection."""

RETRY_S: Final = 1.0
"""Seconds between two attempts to read events while the server is unavailable."""

RETRY_MS: Final = 1000
"""Milliseconds after which an `EventSource` connects again."""

HEARTBEAT: Final = b": heartbeat\n\n"


class ClientGone(Exception):
    """Raised when the client has disconnected, or has read nothing for `STALL_S`."""


class EventStream(Response):
    """Sends the events of one task after a given event to one client.

    Args:
        request: the request.
        handle: the task.
        after: number of the last event that the client has.
        held: counts this stream among the open streams of the user; closed when it ends.
    """

    def __init__(
        self, request: UserRequest, handle: AsyncTaskHandle[Any], after: int, held: ExitStack
    ) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(b"", 200, headers, "text/event-stream")
        del self.headers["content-length"]
        self._request = request
        self._handle = handle
        self._after = after
        self._held = held
        self._writing = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response until the task has ended, or the client has gone."""
        del scope
        with self._held:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            self._send = send
            with suppress(ClientGone, Problem, ClientClosed):  # the client connects again
                if self._request.http.method != "HEAD":
                    await self._write(f"retry: {RETRY_MS}\n\n".encode())
                    await first(
                        self._deliver(),
                        self._keep_alive(),
                        _disconnected(receive),
                        self._request.state.closing.wait(),
                    )
            with suppress(ClientGone):
                await self._write(b"", more=False)

    async def _deliver(self) -> None:
        """Send events until the task has ended. Try again while the server is unavailable."""
        while True:
            try:
                async for event in self._handle.events(after=self._after):
                    await self._send_event(event)
                status = await self._handle.status()
            except ClientClosed:
                raise
            except HoldfastError:
                await asyncio.sleep(RETRY_S)
            else:
                if status.state not in ("queued", "delayed", "running"):  # else it was replayed
                    await self._write(_frame("end", {"state": status.state}))
                    return

    async def _send_event(self, event: TaskEvent | Gap) -> None:
        if isinstance(event, Gap):
            self._after = event.resume_after
            data = {"first": event.first, "last": event.last, "reason": event.reason}
            frame = _frame("gap", data, self._after)
        else:
            self._after = event.number
            facts = {"number": event.number, "attempt": event.attempt, "at": iso_time(event.at)}
            frame = _frame(event.kind, facts | {"data": event.data}, event.number)
        await self._write(frame)
        await self._request.charge(costs.of_read(len(frame)))

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(KEEP_ALIVE_S)
            request = self._request
            with suppress(ServerUnavailable):  # then the next check finds a revocation
                if await request.state.authenticate(request.http) != request.user:
                    raise Problem("unauthorized", "the token now belongs to another user")
            await self._write(HEARTBEAT)

    async def _write(self, data: bytes, *, more: bool = True) -> None:
        """Write *data*.

        Raises:
            ClientGone: the client has disconnected, or does not read.
        """
        body = {"type": "http.response.body", "body": data, "more_body": more}
        try:
            async with asyncio.timeout(STALL_S), self._writing:
                await self._send(body)
        except (TimeoutError, OSError):
            raise ClientGone from None


def _frame(kind: str, data: dict[str, Any], number: int | None = None) -> bytes:
    """Return one event of the stream."""
    name = "" if number is None else f"id: {number}\n"
    return f"{name}event: {kind}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
