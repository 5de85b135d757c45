"""The bytes of one connection: requests out, replies in. Hand-written twin of `_sync/stream.py`."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import hiredis
from redis.asyncio import connection as flavour

from ..outcome import ErrorReply
from ..redispy import (
    BROKEN,
    ERROR_REPLIES,
    ROLE_ASKED,
    check_role,
    curt,
    error_reply,
    forget_writer,
    native,
    writer_of,
)
from ..settings import Address, Settings

Heard = Callable[[Sequence[Any]], None]
"""Given the replies, in the order in which they come: those together that came together."""

Ended = Callable[[str], None]
"""Called once with the reason when the stream ends, and not after `AsyncStream.close`."""

_GOODBYE_S: Final = 1.0
"""How long `close` waits for the other side."""

_BUFFER_BYTES: Final = 2**18

_UNREAD: Final = secrets.token_bytes(8)
"""The begin of the buffer while nothing was read into it."""

_TURNS_OF_LAYERS: Final = 3
"""As `turns_to_notice`, where news goes through TLS or a reader: each passes it on a turn later."""


class AsyncStream(asyncio.BufferedProtocol):
    """A connection that takes its bytes straight from its transport.

    A signal handler may raise after the transport has read bytes and before their replies are
    heard. Later replies would then answer the wrong requests. So the bytes are read into a buffer
    of this stream, which shows at the next read that they were not heard, and the stream ends.

    Args:
        writer: what redis-py wrote to.
        heard: what hears the replies.
        ended: what hears of the end.
    """

    turns_to_notice = 1
    """After so many turns of the loop it has heard of an end that the socket knew before."""

    def __init__(self, writer: asyncio.StreamWriter, heard: Heard, ended: Ended) -> None:
        self._writer = writer  # which would close the transport when it is forgotten
        self._heard = heard
        self._ended = ended
        self._over = False
        self._gone = asyncio.get_running_loop().create_future()
        self._buffer = bytearray(_BUFFER_BYTES)
        self._room = memoryview(self._buffer)  # TLS fills parts of it; those of bytes are copies
        self._between = True  # two reads, so all that was read has been heard
        self._reader = hiredis.Reader(replyError=ErrorReply, protocolError=ConnectionError)
        self._transport = cast("asyncio.Transport", writer.transport)
        if self._transport.get_extra_info("sslcontext") is not None:
            self.turns_to_notice = _TURNS_OF_LAYERS
        self._transport.set_protocol(self)
        self._transport.resume_reading()

    @property
    def ending(self) -> bool:
        """Return whether it has ended, or is about to."""
        return self._over or self._transport.is_closing()

    def write(self, payload: bytes) -> None:
        """Send *payload*, now or as soon as there is room for it."""
        self._transport.write(payload)

    async def close(self) -> None:
        """Hang up, after what was written."""
        self._over = True
        self._transport.close()
        if not (await asyncio.wait([self._gone], timeout=_GOODBYE_S))[0]:
            self._transport.abort()
            await asyncio.wait([self._gone], timeout=_GOODBYE_S)

    def abort(self) -> None:
        """Hang up at once; nothing is heard any more."""
        self._over = True
        self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return what the transport reads into."""
        del sizehint
        buffer = self._buffer
        if not self._between and not buffer.startswith(_UNREAD):
            self._fail("a signal handler interrupted the client while it read replies")
        self._between = False
        buffer[: len(_UNREAD)] = _UNREAD
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """Hear the replies in the first *nbytes* of the buffer."""
        replies: list[Any] = []
        problem: ConnectionError | None = None
        next_reply = self._reader.gets
        try:
            self._reader.feed(self._buffer, 0, nbytes)  # type: ignore[arg-type]  # it takes any buffer
            while (reply := next_reply()) is not False:
                replies.append(reply)
        except ConnectionError as error:  # these are no replies
            problem = error
        if replies and not self._over:
            self._heard(replies)
        if problem is not None:
            self._fail(str(problem))
        self._between = True  # last, so that an interruption anywhere is noticed

    def eof_received(self) -> None:
        """End the stream: the server closed it. The transport closes by itself."""
        self._end("the server closed the connection")

    def connection_lost(self, exc: Exception | None) -> None:
        """End the stream: the connection has ended."""
        self._end(str(exc or "the server closed the connection"))
        if not self._gone.done():
            self._gone.set_result(None)

    def _fail(self, reason: str) -> None:
        self._end(reason)
        self._transport.abort()

    def _end(self, reason: str) -> None:
        if not self._over:
            self._over = True
            self._ended(reason)


class AsyncPlainStream:
    """A connection of the user's own class, used through its own methods.

    Args:
        connection: of redis-py's kind, open.
        heard: what hears the replies.
        ended: what hears of the end.
    """

    turns_to_notice = _TURNS_OF_LAYERS

    def __init__(self, connection: Any, heard: Heard, ended: Ended) -> None:
        self._connection = connection
        self._heard = heard
        self._ended = ended
        self._over = False
        self._payloads: asyncio.Queue[bytes] = asyncio.Queue()
        work = (self._read(), self._send())
        self._tasks = [asyncio.create_task(part, name="holdfast stream") for part in work]

    @property
    def ending(self) -> bool:
        """Return whether it has ended."""
        return self._over

    def write(self, payload: bytes) -> None:
        """Send *payload*, after what was to be sent before."""
        self._payloads.put_nowait(payload)

    async def close(self) -> None:
        """Hang up."""
        self._over = True
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.wait(self._tasks)
        finally:  # also when the loop ends before that
            await _disconnect(self._connection)

    def abort(self) -> None:
        """Hang up soon; nothing is heard any more."""
        self._over = True
        self._closing = asyncio.create_task(self.close(), name="holdfast stream")

    async def _read(self) -> None:
        try:
            while True:
                reply = await self._reply()
                if self._over:  # meanwhile: the caller has `Lost` as its outcome
                    return
                self._heard([reply])
        except Exception as error:  # noqa: BLE001 (a class of the user's may raise anything)
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
        """End, whatever it was that the user's class raised."""
        if not self._over:
            self.abort()
            self._ended(str(error) or repr(error))


async def open_stream(
    settings: Settings, address: Address, heard: Heard, ended: Ended, *, sentinel: bool = False
) -> AsyncStream | AsyncPlainStream:
    """Connect.

    Raises:
        ConnectionError: it cannot be; why, and where to.
    """
    connection = settings.connection(flavour, address, sentinel=sentinel)
    stream: AsyncStream | None = None
    try:
        if native(connection):
            curt(connection)
        async with asyncio.timeout(settings.patience_s):
            await connection.connect()
            if settings.topology == "sentinel" and not sentinel:
                await _check_role(connection)
        if native(connection):
            stream = AsyncStream(await writer_of(connection), heard, ended)
            forget_writer(connection)
            return stream
        return AsyncPlainStream(connection, heard, ended)
    except BaseException as error:
        if stream is not None:
            stream.abort()
        await _disconnect(connection)
        if isinstance(error, BROKEN):
            raise ConnectionError(settings.explained(address, str(error))) from error
        raise


async def _check_role(connection: Any) -> None:
    """Raise ConnectionError if it is a replica. Without permission to ask, it passes."""
    await connection.send_packed_command([ROLE_ASKED], check_health=False)
    with contextlib.suppress(*ERROR_REPLIES):
        check_role(await connection.read_response(disconnect_on_error=False))


async def _disconnect(connection: Any) -> None:
    with contextlib.suppress(*BROKEN):
        await connection.disconnect(nowait=True)
