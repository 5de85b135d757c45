"""Hold one pub/sub connection to one server, until it breaks."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol

from redis.crc import key_slot

from .concurrency._async.background_task import RunningTask, cancel_and_wait, spawn
from .concurrency._async.primitives import Event, sleep
from .concurrency.direct_reading import DirectReading
from .concurrency.loop_thread import LoopThread, OwnLoop
from .transport._async.stream import AsyncPlainStream, AsyncStream, open_stream
from .transport.outcome import ErrorReply, Moved, outcome_of
from .transport.request import Request
from .transport.settings import Address, Settings

_PING_S: Final = 1.0
"""Seconds without a message after which the connection is checked, if a listener is passive."""

_IDLE_PING_S: Final = 15.0
"""Seconds without a message after which the connection is checked, if no listener is passive."""


class Listener(Protocol):
    """Receives the messages of a channel."""

    @property
    def passive(self) -> bool:
        """Return whether the listener only reacts to messages, and never checks the state."""

    def connected(self, reading: DirectReading | None) -> bool:
        """Note the connection by which messages arrive.

        Args:
            reading: lets a waiting thread read the connection; None: only the loop can read it.

        Returns:
            Whether all waiters of this listener read the connection themselves.
        """

    def notify(self, message: bytes = b"") -> None:
        """Process *message*. If it is empty, check the state, because a message may be lost."""


class _Channel:
    """A channel with its listener."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.needs_loop = False  # whether a waiter may wait without reading the connection itself
        self.confirmed = False
        self.ended = Event()


class PubSubConnection:
    """The subscriptions of this process at one server.

    Args:
        settings: settings of the connection.
        address: address of the server.
        loop: the loop in which the connection runs. If it is a `LoopThread`, a waiting thread may
            read the connection instead; see `DirectReading`.
    """

    def __init__(
        self, settings: Settings, address: Address, loop: LoopThread | OwnLoop | None = None
    ) -> None:
        self._settings = settings
        self._address = address
        self._loop = loop
        self._reading: DirectReading | None = None  # None: only the loop can read
        self._stream: AsyncStream | AsyncPlainStream | None = None
        self._pinging: RunningTask[None] | None = None
        self._channels: dict[bytes, _Channel] = {}
        self._unsubscribing: Counter[bytes] = Counter()
        self._passive = 0
        self._silence_s = 0.0
        self._unanswered_s = 0.0

    @property
    def closed(self) -> bool:
        """Return whether the connection is not open: not opened yet, broken or closed."""
        return self._stream is None

    async def open(self) -> None:
        """Connect.

        Raises:
            ConnectionError: the connection failed.
        """
        try:
            self._stream = await open_stream(
                self._settings, self._address, self._receive, self._end
            )
        except Exception as error:  # The user's credential provider may raise any exception.
            raise ConnectionError(str(error)) from error
        is_ours = isinstance(self._loop, LoopThread)
        if is_ours and isinstance(self._stream, AsyncStream) and self._stream.can_lend:
            self._reading = DirectReading(self)
        self._pinging = spawn(self._ping(), "holdfast notifier")

    async def subscribe(self, channel: str, listener: Listener) -> bool:
        """Notify *listener* of messages on *channel* until the connection or subscription ends.

        Returns:
            Whether the server confirmed the subscription.
        """
        name, subscribed = channel.encode(), _Channel(listener)
        self._channels[name] = subscribed
        self._passive += listener.passive
        subscribed.needs_loop = not listener.connected(self._reading)
        if subscribed.needs_loop and self._reading is not None:
            self._reading.take_back()
        try:
            self._send("SSUBSCRIBE", channel)
            await subscribed.ended.wait(None)
        finally:
            del self._channels[name]
            self._passive -= listener.passive
            if not self.closed and not subscribed.ended.is_set():
                self._unsubscribing[name] += 1
                self._send("SUNSUBSCRIBE", channel)
        return subscribed.confirmed

    async def close(self) -> None:
        """Close the connection."""
        stream = self._stream
        self._end()
        if stream is not None:
            await stream.close()
        if self._pinging is not None:
            await cancel_and_wait(self._pinging)

    def lend(self) -> socket.socket | None:
        """Let a thread read in place of the loop. Return a socket for that.

        Return None if a waiter needs the loop, or if the stream is not one of Holdfast's own class.
        """
        stream = self._stream
        if not isinstance(stream, AsyncStream):
            return None
        if any(channel.needs_loop for channel in self._channels.values()):
            return None
        return stream.lend()

    def resume(self) -> None:
        """Let the loop read again."""
        if isinstance(self._stream, AsyncStream):
            self._stream.resume()

    def call_soon(self, function: Callable[..., object], *args: object) -> None:
        """Call *function* soon in the loop, unless that has ended."""
        if self._loop is not None:
            with suppress(RuntimeError):  # The loop ended with its last client.
                self._loop.call_soon(function, *args)

    def receive_in_thread(self, data: bytes) -> None:
        """Process messages of the channels. Let the loop process everything else.

        Raises:
            ConnectionError: there are no data, or they do not follow the protocol.
        """
        stream, others = self._stream, list[Any]()
        if not isinstance(stream, AsyncStream):
            raise ConnectionError("the connection is closed")
        self._silence_s = self._unanswered_s = 0.0
        for message in stream.parse(data):
            is_message = not isinstance(message, ErrorReply) and message[0] == b"smessage"
            subscribed = self._channels.get(message[1]) if is_message else None
            if subscribed is not None:
                subscribed.listener.notify(message[2])
            else:
                others.append(message)
        if others:
            self.call_soon(self._receive, others)

    def _send(self, *command: str) -> None:
        if self._stream is None:
            self._end()
        else:
            self._stream.write(Request.of(*command).payload)

    async def _ping(self) -> None:
        """Ping the server when it is silent, and abort the connection if it does not answer."""
        while self._stream is not None:
            await sleep(_PING_S)
            self._silence_s += _PING_S
            if self._reading is not None:
                self._reading.check()
            due_s = _PING_S if self._passive else _IDLE_PING_S
            if self._unanswered_s >= self._settings.timeout_s:
                self.abort()
            elif self._unanswered_s or self._silence_s >= due_s:
                self._unanswered_s += _PING_S
                self._send("PING")

    def _receive(self, messages: Sequence[Any]) -> None:
        """Process messages and confirmations. Both wake the listener of their channel."""
        self._silence_s = self._unanswered_s = 0.0
        for message in messages:
            if not isinstance(message, ErrorReply):
                self._process(message)
            elif not self._end_moved(message):  # All errors but MOVED end the connection.
                self.abort()
                return

    def _process(self, message: Any) -> None:
        kind, name = message[0], message[1]
        if kind == b"sunsubscribe" and self._unsubscribing[name]:
            # The server confirms that this client has unsubscribed. If `_channels` has the channel,
            # that is a later subscription, which goes on.
            self._unsubscribing[name] -= 1
            if not self._unsubscribing[name]:
                del self._unsubscribing[name]
            return
        subscribed = self._channels.get(name)
        if subscribed is None:
            return
        subscribed.confirmed = True
        subscribed.listener.notify(message[2] if kind == b"smessage" else b"")
        if kind == b"sunsubscribe":  # Not requested: the slot has moved to another server.
            subscribed.ended.set()

    def _end_moved(self, error: ErrorReply) -> bool:
        """End the subscriptions of the slot that *error* reports as moved.

        Return False if *error* is not MOVED.
        """
        outcome = outcome_of(error, self._address)
        if not isinstance(outcome, Moved):
            return False
        for name, subscribed in self._channels.items():
            if key_slot(name) == outcome.slot:
                subscribed.ended.set()
        for name in [each for each in self._unsubscribing if key_slot(each) == outcome.slot]:
            del self._unsubscribing[name]  # The server has ended the subscription by itself.
        return True

    def abort(self) -> None:
        """Close the connection at once. Its listeners have to subscribe on another connection."""
        if self._stream is not None:
            self._stream.abort()
        self._end()

    def _end(self, reason: str = "") -> None:
        """End all subscriptions. Their listeners have to subscribe on another connection."""
        del reason  # If the problem lasts, the next connection reports it.
        self._stream = None
        if self._reading is not None:
            self._reading.take_back()
        for subscribed in self._channels.values():
            subscribed.ended.set()
