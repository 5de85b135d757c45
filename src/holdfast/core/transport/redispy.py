"""Access the internals of redis-py: its errors, and the sockets of its connections.

redis-py opens, encrypts and authenticates connections. Writing and reading through redis-py would
be several times slower, so Holdfast then uses the socket itself. redis-py has no public access to
it. This file is the only one that uses private names of redis-py; a test fails when they change.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import TYPE_CHECKING, Any, Final, cast

from redis.asyncio.connection import SSLConnection
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterCrossSlotError,
    ClusterDownError,
    ExecAbortError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)

from .outcome import ErrorReply

if TYPE_CHECKING:
    import asyncio

BROKEN: Final = (RedisError, OSError, TimeoutError, AttributeError, ValueError)
"""Errors that redis-py raises on a broken connection. It raises the last two of them if another
thread closes the connection."""

ERROR_REPLIES: Final = (ResponseError, BusyLoadingError, AuthenticationError)
"""Errors that redis-py raises for an error reply of the server."""


_CODES: Final = {
    AskError: "ASK",
    AuthenticationError: "NOAUTH",
    BusyLoadingError: "LOADING",
    ClusterCrossSlotError: "CROSSSLOT",
    ClusterDownError: "CLUSTERDOWN",
    ExecAbortError: "EXECABORT",
    MasterDownError: "MASTERDOWN",
    MovedError: "MOVED",
    NoPermissionError: "NOPERM",
    NoScriptError: "NOSCRIPT",
    OutOfMemoryError: "OOM",
    ReadOnlyError: "READONLY",
    TryAgainError: "TRYAGAIN",
}
"""The codes that redis-py 6 removes from the texts of its errors; newer ones keep them."""


def error_reply(error: Exception) -> ErrorReply:
    """Return the server's reply that redis-py has converted to *error*."""
    code = getattr(error, "status_code", None) or _CODES.get(type(error))
    return reply_of(f"{code} {error}" if code else str(error))


def reply_of(text: str) -> ErrorReply:
    """Return the error reply with this text.

    Without a login, a server refuses a command with more than ten arguments, or a long one, as a
    protocol error. Give it the code that it has for shorter ones.
    """
    if _NO_LOGIN in text:
        return ErrorReply(f"NOAUTH Authentication required ({text}).")
    return ErrorReply(text)


_NO_LOGIN: Final = "Protocol error: unauthenticated"

ROLE_COMMAND: Final = b"*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n"
"""The packed command that reads the role of a server."""


def check_role(reply: Any) -> None:
    """Check that a server is a primary, as clients of Sentinel must (see its guidelines).

    After a failover, a sentinel may still name the old primary, which may be a replica by now. Its
    answers to reads would be out of date.

    Args:
        reply: the server's reply to `ROLE_COMMAND`.

    Raises:
        ConnectionError: the server is a replica.
    """
    if (b"role:slave" if isinstance(reply, bytes) else "role:slave") in reply:
        raise ConnectionError("it is a replica, and the sentinel that named it was late")


def native(connection: Any) -> bool:
    """Return whether *connection* has a class of redis-py, so that its socket can be used."""
    return type(connection).__module__.partition(".")[0] == "redis"


def close_without_reply(connection: Any) -> None:
    """Make an asyncio connection with TLS close without waiting for the server's close message.

    redis-py closes a connection if opening it is cancelled. If that is the last step before its
    loop ends, the reply would arrive too late, and the socket would stay open.
    """
    if isinstance(connection, SSLConnection):
        with contextlib.suppress(Exception):  # `connect` reports a problem with the TLS files.
            connection.ssl_context.get().sslobject_class = _OneSidedClose


class _OneSidedClose(ssl.SSLObject):
    """Closes after sending its close message, as TLS allows if no further data is read."""

    def unwrap(self) -> None:
        """Send the close message."""
        with contextlib.suppress(ssl.SSLWantReadError):
            super().unwrap()


async def writer_of(connection: Any) -> asyncio.StreamWriter:
    """Return the stream writer of an open asyncio connection.

    Raises:
        ConnectionError: the server closed the connection, or sent data that would be lost now.
    """
    writer = connection._writer  # noqa: SLF001
    # redis-py 6 and 7 have only `can_read_destructive`.
    can_read = getattr(connection, "can_read", None) or connection.can_read_destructive
    if await can_read() or writer.transport.is_closing():
        raise ConnectionError("the server closed the connection, or sent an unexpected reply")
    return cast("asyncio.StreamWriter", writer)


def forget_writer(connection: Any) -> None:
    """Remove the stream writer from an asyncio connection, so that *connection* cannot close it.

    The caller has taken the writer over; see `writer_of`.
    """
    connection._reader = connection._writer = None  # noqa: SLF001


def socket_of(connection: Any) -> socket.socket:
    """Return the socket of an open blocking connection. The connection still owns the socket."""
    return cast("socket.socket", connection._sock)  # noqa: SLF001
