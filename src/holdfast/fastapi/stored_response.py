"""Keep the response to a request, so that it can be sent again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Self

import msgspec
from starlette.types import Message, Send

MOST_BYTES: Final = (1 << 20) - 64
"""Bytes of the largest response that is stored, with its header fields. Packed, it fits into 1 MiB,
which is the limit for a stored answer."""

TOO_LARGE: Final = 0
"""Status of a stored response that was too large to be kept."""

_TRY_AGAIN: Final = frozenset((401, 403, 408, 409, 425, 429))


class StoredResponse(msgspec.Struct, array_like=True):
    """Holds a response that is stored, to be sent again.

    Attributes:
        status: status of the response; `TOO_LARGE`: the response was not kept.
        headers: names and values.
        body: its content.
    """

    status: int
    headers: list[tuple[bytes, bytes]] = []
    body: bytes = b""

    def packed(self) -> bytes:
        """Return the response as bytes, for the store."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def parsed(cls, packed: bytes) -> Self:
        """Return the response in *packed*.

        Raises:
            msgspec.MsgspecError: another program has stored something else.
        """
        return msgspec.msgpack.decode(packed, type=cls)

    async def send(self, send: Send) -> None:
        """Send the response, with `Idempotent-Replayed: true`."""
        headers = [*self.headers, (b"idempotent-replayed", b"true")]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class ResponseRecorder:
    """Passes on the messages of a response, and collects them.

    Args:
        send: sends a message to the client.
        on_end: called before the last message is sent, so that the response can be stored before
            the client has all of it.
    """

    def __init__(self, send: Send, on_end: Callable[[ResponseRecorder], Awaitable[None]]) -> None:
        self._send = send
        self._on_end = on_end
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._size = 0

    async def __call__(self, message: Message) -> None:
        """Record one message of the application, and send it to the client."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            fields = message.get("headers", ())
            self._headers = [(bytes(name), bytes(value)) for name, value in fields]
            # The fields may be an iterator, and other middleware changes the list that it gets.
            message = {**message, "headers": list(self._headers)}
            self._size = sum(len(name) + len(value) + 10 for name, value in self._headers)
        elif message["type"] == "http.response.body":
            part = bytes(message.get("body", b""))
            self._size += len(part)
            if self._size <= MOST_BYTES:
                self._parts.append(part)
            else:
                self._parts.clear()
            if not message.get("more_body", False):
                await self._on_end(self)
        await self._send(message)

    @property
    def is_kept(self) -> bool:
        """Return whether to store the response, so that a repeated request does not run again."""
        return self._status < 500 and self._status not in _TRY_AGAIN

    def stored(self) -> StoredResponse:
        """Return the response for the store."""
        if self._size > MOST_BYTES:
            return StoredResponse(TOO_LARGE)
        return StoredResponse(self._status, self._headers, b"".join(self._parts))


def problem(status: int, title: str, detail: str, **headers: str) -> tuple[Any, Any]:
    """Return the two messages of a response that reports a problem (RFC 9457)."""
    body = msgspec.json.encode(
        {"type": "about:blank", "title": title, "status": status, "detail": detail}
    )
    fields = {
        "content-type": "application/problem+json",
        "content-length": str(len(body)),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    encoded = [(name.encode(), value.encode()) for name, value in fields.items()]
    start = {"type": "http.response.start", "status": status, "headers": encoded}
    return start, {"type": "http.response.body", "body": body}
