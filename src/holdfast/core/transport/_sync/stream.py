"""The bytes of one connection: requests out, replies in. Twin of `_async/stream.py`, by hand."""

from __future__ import annotations

import contextlib
import select
import ssl
from time import monotonic
from typing import Any, Final

import hiredis
from redis import connection as flavour

from ...concurrency.interruption import raise_interruption
from ..outcome import ErrorReply
from ..redispy import BROKEN, ERROR_REPLIES, ROLE_ASKED, check_role, error_reply, native, socket_of
from ..settings import DEFAULT_TIMEOUT_S, Address, Settings

_CHUNK: Final = 65536

_NOT_NOW: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""What a socket raises that would have to wait."""

_GRACE_S: Final = 0.02
"""An overdue reply has so long still: a program that was stopped hears what has come meanwhile."""

_LONGEST_POLL_MS: Final = 2**31 - 1
"""The system waits no longer at a time: some weeks."""


class Stream:
    """A connection whose bytes go straight to its socket.

    Args:
        connection: of redis-py, open; it goes on to own the socket.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._socket = socket_of(connection)
        self._timeout_s = self._socket.gettimeout() or DEFAULT_TIMEOUT_S
        # So a deadline is one for the whole of an exchange, and no byte is waited for twice.
        self._socket.setblocking(False)
        self._reader = hiredis.Reader(replyError=ErrorReply, protocolError=ConnectionError)
        self._arrivals = select.poll()
        self._arrivals.register(self._socket, select.POLLIN)
        self._room = select.poll()
        self._room.register(self._socket, select.POLLOUT)

    def write(self, payload: bytes) -> None:
        """Send *payload*."""
        sent = self._sent(payload)
        if sent < len(payload):
            self._press(memoryview(payload)[sent:])

    def read(self, until: float) -> Any:
        """The next reply, at the latest at *until* (local monotonic time)."""
        replies, overdue = self._reader, False
        while (reply := replies.gets()) is False:
            now = monotonic()
            if now >= until:
                if overdue:
                    raise TimeoutError
                overdue, until = True, now + _GRACE_S
            if self._arrivals.poll(min((until - now) * 1000, _LONGEST_POLL_MS)):
                self._feed()
        return reply

    def _sent(self, payload: bytes | memoryview) -> int:
        """Send as much of *payload* as there is room for; how much that is."""
        try:
            return self._socket.send(payload)
        except _NOT_NOW:
            return 0

    def _press(self, left: memoryview) -> None:
        """Send all that is *left*, as room is made for it."""
        until = monotonic() + self._timeout_s
        while left:
            left_ms = max(until - monotonic(), 0) * 1000
            if not self._room.poll(min(left_ms, _LONGEST_POLL_MS)):
                raise TimeoutError
            left = left[self._sent(left) :]

    def _feed(self) -> None:
        try:
            data = self._socket.recv(_CHUNK)
        except _NOT_NOW:  # only TLS has said something to itself
            return
        if not data:
            raise ConnectionError("the server closed the connection")
        self._reader.feed(data)

    def stale(self) -> bool:
        """Whether the server hung up, or said what nobody asked."""
        if not self._arrivals.poll(0):
            return False
        try:
            self._socket.recv(_CHUNK)
        except _NOT_NOW:  # only TLS has said something to itself
            return False
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
        if settings.topology == "sentinel" and not sentinel:
            _check_role(connection)
        return Stream(connection) if native(connection) else PlainStream(connection)
    except BROKEN as error:
        connection.disconnect()
        raise_interruption(error)
        raise ConnectionError(settings.explained(address, str(error))) from error
    except BaseException:
        connection.disconnect()
        raise


def _check_role(connection: Any) -> None:
    """Raises ConnectionError: it is a replica. Who may not ask is not told."""
    connection.send_packed_command([ROLE_ASKED], check_health=False)
    with contextlib.suppress(*ERROR_REPLIES):
        check_role(connection.read_response(disconnect_on_error=False))
