"""uvicorn's protocols, with deadlines: no client holds a connection without using it."""

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

from . import connection
from .watch import Quiet, Watch

HEAD_S: Final = 10.0
"""Seconds for a whole request line and its headers, from the opening of the connection or from
their first byte."""

BODY_S: Final = 60.0
"""Seconds for a whole body."""

BODY_IDLE_S: Final = 20.0
"""Seconds between two parts of a body."""

STALL_S: Final = 30.0
STALL_BYTES: Final = 32 << 10
"""A client that does not take as many bytes of an answer in this time is cut off."""

LINGER_S: Final = 1.0
"""Seconds for the last words to a client that has not proven a user."""

PENDING_BYTES: Final = 256 << 10
"""Bytes of answers to pings that wait for a client."""

FRAGMENTS: Final = 1024
"""Parts of one message: empty ones cost memory as well."""

QUIET: Final = Quiet(logging.getLogger("uvicorn.error"))

Phase = Literal["head", "body"]


class Alarm:
    """A call that is made later, unless it is set anew or stopped before."""

    def __init__(self) -> None:
        self._timer: TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Return whether the call is still to be made, or was made."""
        return self._timer is not None

    def set(self, seconds: float, call: Callable[[], None]) -> None:
        """Make *call* after *seconds*."""
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(seconds, call)

    def stop(self) -> None:
        """Make no call."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None


class Config(uvicorn.Config):
    """Settings of the server, and what its protocols share."""

    watch: Watch


class Http(H11Protocol):
    """HTTP with a deadline for each part of a request and of an answer."""

    def __init__(self, config: Config, server_state: ServerState, *args: Any, **more: Any) -> None:
        super().__init__(config, server_state, *args, **more)
        self.logger = QUIET  # type: ignore[assignment]
        self.access_log = False  # it would hold all that clients put into a URL
        self._watch = config.watch
        self._counted: str | None = None
        self._phase: Phase | None = None
        self._deadline, self._idle, self._stall = Alarm(), Alarm(), Alarm()
        self._is_upgraded = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection, or abort it."""
        super().connection_made(transport)
        self._counted = self._watch.admit(transport, len(self.connections))
        if self._counted is None:
            transport.abort()
        else:
            self._set_deadlines()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what the client sends."""
        super().data_received(data)
        self._set_deadlines()
        if self._phase == "body":
            self._idle.set(BODY_IDLE_S, self.transport.abort)

    def on_response_complete(self) -> None:
        """Go on with the next request of the connection."""
        super().on_response_complete()
        self._set_deadlines()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to the other protocol, which counts it itself."""
        self._forget()
        self._is_upgraded = True
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """Watch a client that does not take its answer."""
        super().pause_writing()
        left = self.transport.get_write_buffer_size()
        self._stall.set(STALL_S, lambda: self._check_progress(left))

    def resume_writing(self) -> None:
        """Note that the client has taken its answer."""
        super().resume_writing()
        self._stall.stop()

    def _check_progress(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if before - left < STALL_BYTES:
            self.transport.abort()
        else:
            self._stall.set(STALL_S, lambda: self._check_progress(left))

    def _set_deadlines(self) -> None:
        """Set the deadline of the part of a request that is under way."""
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

    def _forget(self) -> None:
        self._watch.leave(self._counted)
        self._counted = None
        for alarm in (self._deadline, self._idle, self._stall):
            alarm.stop()


class Socket(WebSocketsSansIOProtocol):
    """A WebSocket that may be small and short until it has proven a user."""

    def __init__(self, config: Config, server_state: ServerState, *args: Any, **more: Any) -> None:
        super().__init__(config, server_state, *args, **more)
        self.logger = QUIET  # type: ignore[assignment]
        self.app_state = {**self.app_state, connection.STATE: self}
        self.conn.max_message_size = connection.HELLO_BYTES
        self._watch = config.watch
        self._counted: str | None = None
        self._deadline = Alarm()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the connection, or abort it."""
        super().connection_made(transport)
        self._counted = self._watch.admit(self.transport, len(self.connections))
        if self._counted is None:
            self.transport.abort()
        else:
            self._deadline.set(connection.HELLO_S + LINGER_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._watch.leave(self._counted)
        self._counted = None
        self._deadline.stop()
        super().connection_lost(exc)

    def introduced(self) -> None:
        """Take larger frames, for as long as the client likes."""
        self._deadline.stop()
        self.conn.max_message_size = self.config.ws_max_size

    def end(self) -> None:
        """Cut the connection off soon, unless it has proven a user."""
        if self._deadline.is_set:
            self._deadline.set(LINGER_S, self.transport.abort)

    def handle_ping(self) -> None:
        """Answer a ping of a client that takes the answers."""
        if self.transport.get_write_buffer_size() > PENDING_BYTES:
            self.transport.abort()
        else:
            super().handle_ping()

    def handle_cont(self, event: Frame) -> None:
        """Take one more part of a message."""
        if len(self.frames) < FRAGMENTS:
            super().handle_cont(event)
        else:
            self.transport.abort()

    def keepalive_timeout(self) -> None:
        """Cut off a client that takes nothing: a polite end would wait until it does."""
        super().keepalive_timeout()
        self.transport.abort()
