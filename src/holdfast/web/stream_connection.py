"""Define how the application reports to the HTTP server that a WebSocket is authenticated."""

from __future__ import annotations

from typing import Final, Protocol

from starlette.websockets import WebSocket

STATE: Final = "holdfast.connection"
"""The key of the `StreamConnection` in the `state` of an ASGI scope."""

HELLO_S: Final = 10.0
"""Seconds within which a new stream must send a valid token."""

HELLO_BYTES: Final = 128 << 10
"""Bytes in a first frame at most. A token and the positions of 1,000 chats fit."""


class StreamConnection(Protocol):
    """Represents the connection of one WebSocket in the HTTP server."""

    def authenticated(self) -> None:
        """Remove the limits for connections without a valid token."""

    def end(self) -> None:
        """Abort the connection soon if it never sent a valid token."""


class _UnmanagedConnection:
    """Represents a connection in an HTTP server other than `Server`: it is not limited here."""

    def authenticated(self) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


def connection_of(socket: WebSocket) -> StreamConnection:
    """Return the connection of *socket* in the HTTP server."""
    found: StreamConnection = (socket.scope.get("state") or {}).get(STATE) or _UnmanagedConnection()
    return found
