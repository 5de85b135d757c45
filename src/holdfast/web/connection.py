"""What the application tells the server about the connection of a WebSocket."""

from __future__ import annotations

from typing import Final, Protocol

from starlette.websockets import WebSocket

STATE: Final = "holdfast.connection"
"""Where a connection is in the state of a scope."""

HELLO_S: Final = 10.0
"""Seconds within which a stream must prove a user."""

HELLO_BYTES: Final = 128 << 10
"""The size of a first frame: a token, and the positions of 1,000 chats."""


class Connection(Protocol):
    """The connection of one WebSocket."""

    def introduced(self) -> None:
        """Lift the limits for connections that have not proven a user."""

    def end(self) -> None:
        """Cut the connection off, if it has not proven a user, without waiting for its client."""


class _Unmanaged:
    """The connection of a server that is not `Server`."""

    def introduced(self) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""


def connection_of(socket: WebSocket) -> Connection:
    """Return the connection of *socket*."""
    found: Connection = (socket.scope.get("state") or {}).get(STATE) or _Unmanaged()
    return found
