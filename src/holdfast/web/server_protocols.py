"""The protocols of uvicorn with deadlines: no client keeps a connection that it does not use."""

from __future__ import annotations

import asyncio
import logging
from asyncio import TimerHandle
from collections.abc import Callable
from typing import Any, Final, Literal

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame

from . import stream_connection
from .connection_limiter import ConnectionLimiter, ThrottledLogger

HEAD_S: Final = 10.0
"""Seconds for the request line and headers, from the opening of the connection or from their first
byte."""

BODY_S: Final = 60.0
"""Seconds for a whole body."""

BODY_IDLE_S: Final = 20.0
"""Seconds between two parts of a body."""

STALL_S: Final = 30.0
STALL_BYTES: Final = 32 << 10
"""A client that does not read this many bytes of a response in this time is disconnected."""

LINGER_S: Final = 1.0
"""Seconds to send the last frame to a client without a valid token."""

PENDING_BYTES: Final = 256 << 10
"""Bytes of pongs that may wait for a client."""

FRAGMENTS: Final = 1024
"""Fragments of one message: empty ones cost memory as well."""

LOGGER: Final = ThrottledLogger(logging.getLogger("uvicorn.error"))

Phase = Literal["head", "body"]


class Timeout:
    """A call that is made later, unless it is set again or stopped before."""

    def __init__(self) -> None:
        self._timer: TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Return whether the call is pending or was made."""
        return self._timer is not None

    def set(self, seconds: float, call: Callable[[], None]) -> None:
        """Make *call* after *seconds*."""
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(seconds, call)

    def stop(self) -> None:
        """Cancel the call."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None


class ServerConfig(uvicorn.Config):
    """The settings of the server, and the limiter that its protocols share."""

    limiter: ConnectionLimiter


class HttpProtocol(H11Protocol):
    """HTTP with a deadline for each part of a request and of a response."""

    def __init__(
        self, config: ServerConfig, server_state: ServerState, *args: Any, **more: Any
    ) -> None:
        super().__init__(config, server_state, *args, **more)
        self.logger = LOGGER  # type: ignore[assignment]
        self.access_log = False  # it would contain whatever clients put into a URL
        self._limiter = config.limiter
        self._counted: str | None = None
        self._phase: Phase | None = None
        self._deadline, self._idle, self._stall = Timeout(), Timeout(), Timeout()
        self._is_upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection or abort it."""
        super().connection_made(transport)
        self._counted = self._limiter.admit(transport, len(self.connections))
        if self._counted is None:
            transport.abort()
        else:
            self._set_deadlines()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to count the connection."""
        self._uncount()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive data from the client."""
        super().data_received(data)
        self._set_deadlines()
        if self._phase == "body":
            self._idle.set(BODY_IDLE_S, self.transport.abort)

    def on_response_complete(self) -> None:
        """Continue with the next request of the connection."""
        super().on_response_complete()
        self._set_deadlines()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection to the other protocol, which counts it itself."""
        self._uncount()
        self._is_upgraded = True
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """Set a deadline for a client that does not read its response."""
        super().pause_writing()
        left = self.transport.get_write_buffer_size()
        self._stall.set(STALL_S, lambda: self._check_progress(left))

    def resume_writing(self) -> None:
        """Stop the deadline: the client has read its response."""
        super().resume_writing()
        self._stall.stop()

    def _check_progress(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if before - left < STALL_BYTES:
            self.transport.abort()
        else:
            self._stall.set(STALL_S, lambda: self._check_progress(left))

    def _set_deadlines(self) -> None:
        """Set the deadline of the part of a request that is being received."""
        phase: Phase | None = None
        if self._is_upgraded or self.transport.is_closing():
            pass
        elif self.conn.their_state is h11.SEND_BODY:
            phase = "body"
        elif self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None:
            phase = "head"
        if phase == self._phase:
            return
        self._phase = phase
        self._idle.stop()
        self._deadline.stop()
        if phase is not None:
            self._deadline.set(HEAD_S if phase == "head" else BODY_S, self.transport.abort)

    def _uncount(self) -> None:
        self._limiter.release(self._counted)
        self._counted = None
        for timeout in (self._deadline, self._idle, self._stall):
            timeout.stop()


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """A WebSocket with a size limit and a deadline until it sends a valid token."""

    def __init__(
        self, config: ServerConfig, server_state: ServerState, *args: Any, **more: Any
    ) -> None:
        super().__init__(config, server_state, *args, **more)
        self.logger = LOGGER  # type: ignore[assignment]
        self.app_state = {**self.app_state, stream_connection.STATE: self}
        self.conn.max_message_size = stream_connection.HELLO_BYTES
        self._limiter = config.limiter
        self._counted: str | None = None
        self._deadline = Timeout()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the connection or abort it."""
        super().connection_made(transport)
        self._counted = self._limiter.admit(self.transport, len(self.connections))
        if self._counted is None:
            self.transport.abort()
        else:
            self._deadline.set(stream_connection.HELLO_S + LINGER_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop to count the connection."""
        self._limiter.release(self._counted)
        self._counted = None
        self._deadline.stop()
        super().connection_lost(exc)

    def authenticated(self) -> None:
        """Accept larger frames, and stop the deadline."""
        self._deadline.stop()
        self.conn.max_message_size = self.config.ws_max_size

    def end(self) -> None:
        """Abort the connection soon if it never sent a valid token."""
        if self._deadline.is_set:
            self._deadline.set(LINGER_S, self.transport.abort)

    def handle_ping(self) -> None:
        """Answer a ping unless the client does not read the pongs."""
        if self.transport.get_write_buffer_size() > PENDING_BYTES:
            self.transport.abort()
        else:
            super().handle_ping()

    def handle_cont(self, event: Frame) -> None:
        """Receive another fragment of a message."""
        if len(self.frames) < FRAGMENTS:
            super().handle_cont(event)
        else:
            self.transport.abort()

    def keepalive_timeout(self) -> None:
        """Abort the connection: a closing handshake would wait for the client."""
        super().keepalive_timeout()
        self.transport.abort()
