"""Extend the protocols of uvicorn with deadlines, so that no client keeps an unused connection."""

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
"""Seconds within which the request line and headers must arrive, counted from the opening of the
connection or, for later requests, from the first byte."""

BODY_S: Final = 60.0
"""Seconds within which a whole request body must arrive."""

BODY_IDLE_S: Final = 20.0
"""Seconds between two parts of a request body at most."""

STALL_S: Final = 30.0
"""Seconds after which the server checks again whether a slow client has read `STALL_BYTES`."""

STALL_BYTES: Final = 32 << 10
"""Bytes of a response that a client must read in `STALL_S` seconds; it loses the connection
otherwise."""

LINGER_S: Final = 1.0
"""Seconds after which the server aborts the connection of a client that never sent a valid token.
Until then, the last frame can reach the client."""

PENDING_BYTES: Final = 256 << 10
"""Unsent bytes at most when a client sends a ping; it loses the connection otherwise."""

EARLY_BYTES: Final = 16 << 10
"""Bytes of further requests that the server reads while it handles one. It keeps reading, because
otherwise it would not notice that the client has disconnected."""

FRAGMENTS: Final = 1024
"""Fragments of one message at most, because even empty fragments cost memory."""

LOGGER: Final = ThrottledLogger(logging.getLogger("uvicorn.error"))

Phase = Literal["head", "body"]


class Timeout:
    """A timer that calls a function once. A later `set` replaces the call; `stop` cancels it."""

    def __init__(self) -> None:
        self._timer: TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Return whether the call is pending or was made."""
        return self._timer is not None

    def set(self, seconds: float, call: Callable[[], None]) -> None:
        """Call *call* after *seconds*, instead of a call that was set before."""
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(seconds, call)

    def stop(self) -> None:
        """Cancel the pending call, if there is one."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None


class ServerConfig(uvicorn.Config):
    """Holds the settings of the server, and the connection limiter that its protocols share."""

    limiter: ConnectionLimiter


class HttpProtocol(H11Protocol):
    """Serves HTTP with a deadline for each part of a request and of a response."""

    def __init__(
        self, config: ServerConfig, server_state: ServerState, *args: Any, **more: Any
    ) -> None:
        super().__init__(config, server_state, *args, **more)
        self.logger = LOGGER  # type: ignore[assignment]
        self.access_log = False  # it would contain secrets that clients put into URLs
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
        """Stop counting the connection, and stop its deadlines."""
        self._uncount()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Process *data* from the client, and set the deadline of the data that must follow."""
        super().data_received(data)
        if self.conn.their_state is h11.DONE and len(self.conn.trailing_data[0]) < EARLY_BYTES:
            self.flow.resume_reading()
        self._set_deadlines()
        if self._phase == "body":
            self._idle.set(BODY_IDLE_S, self.transport.abort)

    def on_response_complete(self) -> None:
        """Set the deadline of the next request after a response is complete."""
        super().on_response_complete()
        self._set_deadlines()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over to `WebSocketProtocol`, which counts it again."""
        self._uncount()
        self._is_upgraded = True
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """Set a deadline for a client that does not read its response."""
        super().pause_writing()
        left = self.transport.get_write_buffer_size()
        self._stall.set(STALL_S, lambda: self._check_progress(left))

    def resume_writing(self) -> None:
        """Stop the deadline, because the client has read enough of its response."""
        super().resume_writing()
        self._stall.stop()

    def _check_progress(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if before - left < STALL_BYTES:
            self.transport.abort()
        else:
            self._stall.set(STALL_S, lambda: self._check_progress(left))

    def _set_deadlines(self) -> None:
        """Set the deadline of the part of a request, head or body, that must arrive now."""
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
    """Serves a WebSocket. Limits the size of the first frame and the time until a valid token."""

    def __init__(
        self, config: ServerConfig, server_state: ServerState, *args: Any, **more: Any
    ) -> None:
        super().__init__(config, server_state, *args, **more)
        self.logger = LOGGER  # type: ignore[assignment]
        self.app_state: dict[str, Any] = {
            **self.app_state,
            stream_connection.STATE: self,
        }
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
        """Stop counting the connection, and stop its deadline."""
        self._limiter.release(self._counted)
        self._counted = None
        self._deadline.stop()
        super().connection_lost(exc)

    async def send(self, message: Any) -> None:
        """Send a message. After a refusal that has a body, mark the handshake as complete.

        uvicorn does not mark it, and would log an error for each refusal.
        """
        await super().send(message)
        is_body = message["type"] == "websocket.http.response.body"
        if is_body and not message.get("more_body", False):
            self.handshake_complete = True

    def authenticated(self) -> None:
        """Accept frames of the full size, and stop the deadline."""
        self._deadline.stop()
        self.conn.max_message_size = self.config.ws_max_size

    def end(self) -> None:
        """Abort the connection soon if it never sent a valid token."""
        if self._deadline.is_set:
            self._deadline.set(LINGER_S, self.transport.abort)

    def handle_ping(self) -> None:
        """Answer a ping, or abort the connection of a client that does not read the pongs."""
        if self.transport.get_write_buffer_size() > PENDING_BYTES:
            self.transport.abort()
        else:
            super().handle_ping()

    def handle_cont(self, event: Frame) -> None:
        """Process another fragment of a message; abort the connection if there are too many."""
        if len(self.frames) < FRAGMENTS:
            super().handle_cont(event)
        else:
            self.transport.abort()

    def keepalive_timeout(self) -> None:
        """Abort the connection, because a closing handshake would wait for the silent client."""
        super().keepalive_timeout()
        self.transport.abort()
