"""Send requests and read replies of one connection. Hand-written twin of `_async/stream.py`."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import struct
import sys
from time import monotonic
from typing import Any, Final

import hiredis
from redis import connection as flavour

from ...concurrency.interruption import raise_interruption
from ..probe import probe
from ..redispy import (
    BROKEN,
    ERROR_REPLIES,
    ROLE_COMMAND,
    check_role,
    error_reply,
    native,
    reply_of,
    socket_of,
)
from ..rejection import NotOpened, may_be_probed
from ..settings import DEFAULT_TIMEOUT_S, Address, Settings

_CHUNK: Final = 65536

_NOT_NOW: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
"""Errors that a non-blocking socket raises if it would have to wait."""

_GRACE_S: Final = 0.02
"""Seconds that an overdue reply still has, so that a program that was stopped (SIGSTOP) reads the
replies that arrived meanwhile."""

_LONGEST_POLL_MS: Final = 2**31 - 1
"""Longest timeout that `poll` accepts: some weeks."""


_WAITS_IN_RECV: Final = sys.platform == "linux"
"""Whether a read of a socket may wait with a timeout of the kernel (`SO_RCVTIMEO`). It saves a
system call for each reply, and releases the interpreter lock once less."""

_LONGEST_RECV_S: Final = 86_400.0
"""Longest timeout for which a read waits in the kernel."""


class Stream:
    """A connection that reads and writes its socket directly.

    Args:
        connection: an open connection of redis-py, which still owns the socket.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._socket = socket_of(connection)
        self._timeout_s = self._socket.gettimeout() or DEFAULT_TIMEOUT_S
        # A non-blocking socket, so that one deadline limits a whole call, not each read of it.
        self._socket.setblocking(False)
        self._recv_s = _waiting_recv_s(self._socket, self._timeout_s)
        self._flags = 0 if self._recv_s is None else socket.MSG_DONTWAIT
        self._reader = hiredis.Reader(replyError=reply_of, protocolError=ConnectionError)
        self._arrivals = select.poll()
        self._arrivals.register(self._socket, select.POLLIN)
        self._room = select.poll()
        self._room.register(self._socket, select.POLLOUT)

    def write(self, payload: bytes) -> None:
        """Send *payload*."""
        try:
            sent = self._socket.send(payload, self._flags)
        except _NOT_NOW:
            sent = 0
        if sent < len(payload):
            self._send_rest(memoryview(payload)[sent:])

    def read(self, until: float) -> Any:
        """Return the next reply.

        Raises:
            TimeoutError: there is no reply at *until* (local monotonic time).
            ConnectionError: the connection broke.
        """
        replies, overdue = self._reader, False
        while (reply := replies.gets()) is False:
            now = monotonic()
            if now >= until:
                if overdue:
                    raise TimeoutError
                overdue, until = True, now + _GRACE_S
            if self._recv_s is not None and until - now > self._recv_s:
                self._feed(0)  # The kernel waits. This is the usual case.
            elif self._arrivals.poll(min((until - now) * 1000, _LONGEST_POLL_MS)):
                self._feed(self._flags)
        return reply

    def _send_rest(self, left: memoryview) -> None:
        """Send *left*, and wait whenever the socket accepts no more."""
        until = monotonic() + self._timeout_s
        while left:
            left_ms = max(until - monotonic(), 0) * 1000
            if not self._room.poll(min(left_ms, _LONGEST_POLL_MS)):
                raise TimeoutError
            with contextlib.suppress(*_NOT_NOW):
                left = left[self._socket.send(left, self._flags) :]

    def _feed(self, flags: int) -> None:
        try:
            data = self._socket.recv(_CHUNK, flags)
        except _NOT_NOW:  # The time is over, or only a message of TLS has arrived, and no data.
            return
        if not data:
            raise ConnectionError("the server closed the connection")
        self._reader.feed(data)

    def stale(self) -> bool:
        """Return whether the server closed the connection, or sent data without a request."""
        if not self._arrivals.poll(0):
            return False
        try:
            self._socket.recv(_CHUNK, self._flags)
        except _NOT_NOW:  # Only a message of TLS has arrived, and no data.
            return False
        return True

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(*BROKEN):
            self._connection.disconnect()


def _waiting_recv_s(connected: socket.socket, timeout_s: float) -> float | None:
    """Let `recv` wait for *timeout_s* at most, if the platform can.

    Returns:
        How many seconds a reader must have left to use that: a wait may be longer by the grace.
        None: a reader polls before each `recv`, and the socket stays non-blocking.
    """
    is_plain = type(connected).__module__ == "socket"  # neither TLS, nor replaced, as by gevent
    if not (_WAITS_IN_RECV and is_plain and timeout_s <= _LONGEST_RECV_S):
        return None
    seconds, part = divmod(timeout_s, 1.0)
    timeout = struct.pack("@ll", int(seconds), max(1, int(part * 1_000_000)))
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeout)
    connected.setblocking(True)
    return max(timeout_s - _GRACE_S, timeout_s / 2)


class PlainStream:
    """A connection of a class of the user, which is used only through its public methods.

    Args:
        connection: an open connection with the methods of redis-py's connections.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def write(self, payload: bytes) -> None:
        """Send *payload*."""
        self._connection.send_packed_command([payload], check_health=False)

    def read(self, until: float) -> Any:
        """Return the next reply. The connection has a timeout of its own."""
        del until
        try:
            return self._connection.read_response(disconnect_on_error=False)
        except ERROR_REPLIES as error:
            return error_reply(error)

    def stale(self) -> bool:
        """Return whether the server closed the connection, or sent data without a request."""
        return bool(self._connection.can_read())

    def close(self) -> None:
        """Close the connection."""
        with contextlib.suppress(*BROKEN):
            self._connection.disconnect()


def open_stream(
    settings: Settings, address: Address, *, sentinel: bool = False
) -> Stream | PlainStream:
    """Connect to the server at *address* and return the stream.

    Raises:
        NotOpened: the connection failed; the message gives the address and the reason.
    """
    security = settings.sentinel_security if sentinel else settings.security
    connection = settings.connection(flavour, address, sentinel=sentinel)
    try:
        connection.connect()
        if settings.topology == "sentinel" and not sentinel:
            _check_role(connection)
        return Stream(connection) if native(connection) else PlainStream(connection)
    except BROKEN as error:
        connection.disconnect()
        raise_interruption(error)
        is_unexplained = native(connection) and may_be_probed(error, security)
        found = probe(address, security, settings.patience_s) if is_unexplained else None
        raise NotOpened.because(error, settings, address, found) from error
    except BaseException:
        connection.disconnect()
        raise


def _check_role(connection: Any) -> None:
    """Raise ConnectionError if the server is a replica. Pass if the user may not run INFO."""
    connection.send_packed_command([ROLE_COMMAND], check_health=False)
    with contextlib.suppress(*ERROR_REPLIES):
        check_role(connection.read_response(disconnect_on_error=False))
