"""Send requests and read replies of one connection. Hand-written twin of `_sync/stream.py`."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import hiredis
from redis.asyncio import connection as flavour

from ...concurrency._async.user_calls import in_thread
from ..probe import opening_s, probe
from ..redispy import (
    BROKEN,
    ERROR_REPLIES,
    ROLE_COMMAND,
    check_role,
    close_without_reply,
    error_reply,
    forget_writer,
    native,
    reply_of,
    writer_of,
)
from ..rejection import NotOpened, may_be_probed
from ..settings import Address, Settings

OnReplies = Callable[[Sequence[Any]], None]
"""Called with the replies that arrived together, in order."""

OnEnd = Callable[[str], None]
"""Called once with the reason when a stream ends; not called after `close`."""

_CLOSE_S: Final = 1.0
"""Seconds that `close` waits for the other side."""

_BUFFER_BYTES: Final = 2**18

_UNREAD: Final = secrets.token_bytes(8)
"""The marker at the beginning of the buffer before each read; see `AsyncStream`."""

_TURNS_OF_LAYERS: Final = 3
"""`turns_to_notice` of a stream with TLS or with a reader task: each layer takes one more turn."""


class AsyncStream(asyncio.BufferedProtocol):
    """A connection that reads directly from its transport.

    A signal handler may raise after the transport has read bytes and before their replies are
    processed. Later replies would then answer the wrong requests. To detect this, each read goes
    into a buffer that begins with a marker. If the marker of an unprocessed read is overwritten at
    the next read, the stream ends.

    Args:
        writer: the stream writer of redis-py's connection.
        on_replies: called with replies.
        on_end: called when the stream ends.

    Attributes:
        can_lend: whether `lend` is possible: there is no TLS between the bytes and the socket.
    """

    turns_to_notice = 1
    """Turns of the loop after which the stream has noticed that its socket was closed."""

    def __init__(self, writer: asyncio.StreamWriter, on_replies: OnReplies, on_end: OnEnd) -> None:
        self._writer = writer  # Kept, because a collected writer closes the transport.
        self._on_replies = on_replies
        self._on_end = on_end
        self._over = False
        self._closed = asyncio.get_running_loop().create_future()
        self._buffer = bytearray(_BUFFER_BYTES)
        # A memoryview, because TLS writes into slices of it, and a slice of a bytearray is a copy.
        self._view = memoryview(self._buffer)
        self._processed = True  # whether the replies of the last read were processed
        self._reader = hiredis.Reader(replyError=reply_of, protocolError=ConnectionError)
        self._transport = cast("asyncio.Transport", writer.transport)
        self.can_lend = self._transport.get_extra_info("sslcontext") is None
        if not self.can_lend:
            self.turns_to_notice = _TURNS_OF_LAYERS
        self._transport.set_protocol(self)
        self._transport.resume_reading()

    @property
    def ending(self) -> bool:
        """Return whether the stream has ended, or is being closed."""
        return self._over or self._transport.is_closing()

    def write(self, payload: bytes) -> None:
        """Send *payload*, now or as soon as the socket accepts it."""
        self._transport.write(payload)

    async def close(self) -> None:
        """Close the connection after everything that was written."""
        self._over = True
        self._transport.close()
        if not (await asyncio.wait([self._closed], timeout=_CLOSE_S))[0]:
            self._transport.abort()
            await asyncio.wait([self._closed], timeout=_CLOSE_S)

    def abort(self) -> None:
        """Close the connection at once. No further replies are processed."""
        self._over = True
        self._transport.abort()

    def lend(self) -> socket.socket | None:
        """Stop reading, and return a duplicate of the socket; None: the stream is ending.

        The caller reads the socket, and passes the data to `parse`.
        """
        if self.ending:
            return None
        lent: socket.socket = self._transport.get_extra_info("socket").dup()
        self._transport.pause_reading()  # After `dup`, which fails if too many files are open.
        return lent

    def resume(self) -> None:
        """Read again, after `lend`."""
        if not self.ending:
            self._transport.resume_reading()

    def parse(self, data: bytes) -> list[Any]:
        """Return the replies that end in *data*, which was read from the socket after `lend`.

        Raises:
            ConnectionError: there are no data, or they do not follow the protocol.
        """
        if not data:
            raise ConnectionError("the server closed the connection")
        self._reader.feed(data)
        replies: list[Any] = []
        while (reply := self._reader.gets()) is not False:
            replies.append(reply)
        return replies

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next read of the transport."""
        del sizehint
        buffer = self._buffer
        if not self._processed and not buffer.startswith(_UNREAD):
            self._fail("a signal handler interrupted the client while it read replies")
        self._processed = False
        buffer[: len(_UNREAD)] = _UNREAD
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        """Process the replies in the first *nbytes* of the buffer."""
        replies: list[Any] = []
        problem: ConnectionError | None = None
        next_reply = self._reader.gets
        try:
            self._reader.feed(self._buffer, 0, nbytes)  # type: ignore[arg-type]  # any buffer works
            while (reply := next_reply()) is not False:
                replies.append(reply)
        except ConnectionError as error:  # The bytes do not follow the protocol.
            problem = error
        if replies and not self._over:
            self._on_replies(replies)
        if problem is not None:
            self._fail(str(problem))
        self._processed = True  # The last statement, so that an interruption anywhere is detected.

    def eof_received(self) -> None:
        """End the stream, because the server has closed it. The transport closes by itself."""
        self._end("the server closed the connection")

    def connection_lost(self, exc: Exception | None) -> None:
        """End the stream, because the connection is closed."""
        self._end(str(exc or "the server closed the connection"))
        if not self._closed.done():
            self._closed.set_result(None)

    def _fail(self, reason: str) -> None:
        self._end(reason)
        self._transport.abort()

    def _end(self, reason: str) -> None:
        if not self._over:
            self._over = True
            self._on_end(reason)


class AsyncPlainStream:
    """A connection of a class that the user supplies. Only its public methods are used.

    Args:
        connection: an open connection with the methods of redis-py's connections.
        on_replies: called with replies.
        on_end: called when the stream ends.
    """

    turns_to_notice = _TURNS_OF_LAYERS

    def __init__(self, connection: Any, on_replies: OnReplies, on_end: OnEnd) -> None:
        self._connection = connection
        self._on_replies = on_replies
        self._on_end = on_end
        self._over = False
        self._payloads: asyncio.Queue[bytes] = asyncio.Queue()
        work = (self._read(), self._send())
        self._tasks = [asyncio.create_task(part, name="holdfast stream") for part in work]

    @property
    def ending(self) -> bool:
        """Return whether the stream has ended."""
        return self._over

    def write(self, payload: bytes) -> None:
        """Send *payload* after all earlier payloads."""
        self._payloads.put_nowait(payload)

    async def close(self) -> None:
        """Close the connection."""
        self._over = True
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.wait(self._tasks)
        finally:  # The end of the loop may cancel the wait.
            await _disconnect(self._connection)

    def abort(self) -> None:
        """Close the connection soon. No further replies are processed."""
        self._over = True
        self._closing = asyncio.create_task(self.close(), name="holdfast stream")

    async def _read(self) -> None:
        try:
            while True:
                reply = await self._reply()
                if self._over:  # Its calls have `Lost` as their outcome already.
                    return
                self._on_replies([reply])
        except Exception as error:  # noqa: BLE001 (the user's class may raise anything)
            self._fail(error)

    async def _reply(self) -> Any:
        try:
            return await self._connection.read_response(disconnect_on_error=False)
        except ERROR_REPLIES as error:
            return error_reply(error)

    async def _send(self) -> None:
        try:
            while True:
                payload = await self._payloads.get()
                await self._connection.send_packed_command([payload], check_health=False)
        except Exception as error:  # noqa: BLE001 (the user's class may raise anything)
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if not self._over:
            self.abort()
            self._on_end(str(error) or repr(error))


async def open_stream(
    settings: Settings,
    address: Address,
    on_replies: OnReplies,
    on_end: OnEnd,
    *,
    sentinel: bool = False,
) -> AsyncStream | AsyncPlainStream:
    """Connect to the server at *address* and return the stream.

    Raises:
        NotOpened: the connection failed; the message gives the address and the reason.
    """
    security = settings.sentinel_security if sentinel else settings.security
    connection = settings.connection(flavour, address, sentinel=sentinel)
    stream: AsyncStream | None = None
    try:
        if native(connection):
            close_without_reply(connection)
        async with asyncio.timeout(opening_s(settings.patience_s, security)):
            await connection.connect()
            if settings.topology == "sentinel" and not sentinel:
                await _check_role(connection)
        if native(connection):
            stream = AsyncStream(await writer_of(connection), on_replies, on_end)
            forget_writer(connection)
            return stream
        return AsyncPlainStream(connection, on_replies, on_end)
    except BaseException as error:
        if stream is not None:
            stream.abort()
        await _disconnect(connection)
        if not isinstance(error, BROKEN):
            raise
        is_unexplained = native(connection) and may_be_probed(error, security)
        found = None
        if is_unexplained:
            found = await in_thread(probe, address, security, settings.patience_s)
        raise NotOpened.because(error, settings, address, found) from error


async def _check_role(connection: Any) -> None:
    """Raise ConnectionError if the server is a replica. Pass if the user may not run INFO."""
    await connection.send_packed_command([ROLE_COMMAND], check_health=False)
    with contextlib.suppress(*ERROR_REPLIES):
        check_role(await connection.read_response(disconnect_on_error=False))


async def _disconnect(connection: Any) -> None:
    with contextlib.suppress(*BROKEN):
        await connection.disconnect(nowait=True)
