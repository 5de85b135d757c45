"""What the application reports to the server about the connection of a WebSocket."""

from __future__ import annotations

from typing import Final, Protocol

from starlette.websockets import WebSocket

STATE: Final = "holdfast.connection"
"""The key of the connection in the state of a scope."""

HELLO_S: Final = 10.0
"""Seconds within which a stream must send a valid token."""

HELLO_BYTES: Final = 128 << 10
"""The size of a first frame: a token, and the positions of 1,000 chats."""


class StreamConnection(Protocol):
    """The connection of one WebSocket."""

    def authenticated(self) -> None:
        """Lift the limits of a connection without a valid token."""

    def end(self) -> None:
        """Abort the connection soon if it never sent a valid token."""


class _UnmanagedConnection:
    """The connection of a server other than `Server`, which has its own limits."""

    def authenticated(self) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


def connection_of(socket: WebSocket) -> StreamConnection:
    """Return the connection of *socket*."""
    found: StreamConnection = (socket.scope.get("state") or {}).get(STATE) or _UnmanagedConnection()
    return found
