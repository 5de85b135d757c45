"""What depends on how redis-py is made inside: its errors, and what lies under its connections.

redis-py opens, secures and authenticates connections. To write and read through it then costs
several times what the bytes themselves cost, so these go past it. It has no public way to what
lies underneath: nothing else here knows its private names, and a test fails when they change.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import TYPE_CHECKING, Any, Final, cast

from redis.asyncio.connection import SSLConnection
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    RedisError,
    ResponseError,
)

from .outcome import ErrorReply

if TYPE_CHECKING:
    import asyncio

BROKEN: Final = (RedisError, OSError, TimeoutError, AttributeError, ValueError)
"""What redis-py raises on a broken connection; the last two on one that another thread closes."""

ERROR_REPLIES: Final = (ResponseError, BusyLoadingError, AuthenticationError)
"""What it raises for an error that the server sent as its reply."""


def error_reply(error: Exception) -> ErrorReply:
    """Return the server's reply that redis-py has turned into *error*."""
    code = getattr(error, "status_code", None)
    return ErrorReply(f"{code} {error}" if code else str(error))


ROLE_ASKED: Final = b"*2\r\n$4\r\nINFO\r\n$11\r\nreplication\r\n"


def check_role(reply: Any) -> None:
    """Refuse a replica, by its *reply* to `ROLE_ASKED` (guidelines for clients of Sentinel).

    A sentinel that has not heard of a failover yet names the primary of before: when that one is
    back as a replica, it would answer what is only read, from long ago.

    Raises:
        ConnectionError: it is one.
    """
    if (b"role:slave" if isinstance(reply, bytes) else "role:slave") in reply:
        raise ConnectionError("it is a replica, and the sentinel that named it was late")


def native(connection: Any) -> bool:
    """Return whether the class of a connection is from redis-py, so that it can be taken over."""
    return type(connection).__module__.partition(".")[0] == "redis"


def curt(connection: Any) -> None:
    """Have an asyncio connection with TLS not wait for the answer to its goodbye.

    redis-py says goodbye when an opening is given up. That may be the last thing in its loop, which
    would not live to see the answer, and end with a socket open.
    """
    if isinstance(connection, SSLConnection):
        with contextlib.suppress(Exception):  # `connect` will say what is wrong with the files
            connection.ssl_context.get().sslobject_class = _Curt


class _Curt(ssl.SSLObject):
    """Ends when it has said goodbye, as TLS allows where nothing is to be heard any more."""

    def unwrap(self) -> None:
        """Send the end of the TLS session."""
        with contextlib.suppress(ssl.SSLWantReadError):
            super().unwrap()


async def writer_of(connection: Any) -> asyncio.StreamWriter:
    """Return what an open asyncio connection writes to.

    Raises:
        ConnectionError: the server hung up, or said what would be lost now.
    """
    writer = connection._writer  # noqa: SLF001
    if await connection.can_read() or writer.transport.is_closing():
        raise ConnectionError("the server closed the connection, or sent an unexpected reply")
    return cast("asyncio.StreamWriter", writer)


def forget_writer(connection: Any) -> None:
    """Have an asyncio connection leave its writer to another owner."""
    connection._reader = connection._writer = None  # noqa: SLF001


def socket_of(connection: Any) -> socket.socket:
    """Return the socket of an open blocking connection, which still owns it."""
    return cast("socket.socket", connection._sock)  # noqa: SLF001
