"""The bytes of one connection: requests out, replies in. Hand-written twin of `_async.py`."""

from __future__ import annotations

import contextlib
import select
import ssl
import time
from typing import Any, Final

import hiredis
from redis import connection as flavour

from ..outcome import ErrorReply
from ..settings import Address, Settings
from .redispy import BROKEN, ERROR_REPLIES, error_reply, native, socket_of

_CHUNK: Final = 65536

_GRACE_S: Final = 0.02
"""An overdue reply has so long still: a program that was stopped hears what has come meanwhile."""

_LONGEST_POLL_MS: Final = 3_600_000
"""Then it is asked again: the system's limit is some weeks."""


class Stream:
    """A connection whose bytes go straight to its socket.

    Args:
        connection: of redis-py, open; it goes on to own the socket.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._socket = socket_of(connection)
        self._reader = hiredis.Reader(replyError=ErrorReply, protocolError=ConnectionError)
        self._arrivals = select.poll()
        self._arrivals.register(self._socket, select.POLLIN)

    def write(self, payload: bytes) -> None:
        """Send *payload*."""
        self._socket.sendall(payload)

    def read(self, until: float) -> Any:
        """The next reply, at the latest at *until* (local monotonic time)."""
        replies, overdue = self._reader, False
        while (reply := replies.gets()) is False:
            now = time.monotonic()
            if now >= until:
                if overdue:
                    raise TimeoutError
                overdue, until = True, now + _GRACE_S
            if not self._arrivals.poll(min((until - now) * 1000, _LONGEST_POLL_MS)):
                continue
            data = self._socket.recv(_CHUNK)
            if not data:
                raise ConnectionError("the server closed the connection")
            replies.feed(data)
        return reply

    def stale(self) -> bool:
        """Whether the server hung up, or said what nobody asked."""
        if not self._arrivals.poll(0):
            return False
        timeout_s = self._socket.gettimeout()
        self._socket.settimeout(0)
        try:
            self._socket.recv(_CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError):  # only TLS has said something to itself
            return False
        finally:
            self._socket.settimeout(timeout_s)
        return True

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(*BROKEN):
            self._connection.disconnect()


class PlainStream:
    """A connection whose class is the user's: read and written as it wants to be.

    Args:
        connection: of redis-py's kind, open.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def write(self, payload: bytes) -> None:
        """Send *payload*."""
        self._connection.send_packed_command([payload], check_health=False)

    def read(self, until: float) -> Any:
        """The next reply, in the time that the connection has for it."""
        del until
        try:
            return self._connection.read_response(disconnect_on_error=False)
        except ERROR_REPLIES as error:
            return error_reply(error)

    def stale(self) -> bool:
        """Whether the server hung up, or said what nobody asked."""
        return bool(self._connection.can_read())

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(*BROKEN):
            self._connection.disconnect()


def open_stream(
    settings: Settings, address: Address, *, sentinel: bool = False
) -> Stream | PlainStream:
    """Connect.

    Raises:
        ConnectionError: it cannot be; why, and where to.
    """
    connection = settings.connection(flavour, address, sentinel=sentinel)
    try:
        connection.connect()
        return Stream(connection) if native(connection) else PlainStream(connection)
    except BROKEN as error:
        connection.disconnect()
        raise ConnectionError(settings.explained(address, str(error))) from error
    except BaseException:
        connection.disconnect()
        raise
