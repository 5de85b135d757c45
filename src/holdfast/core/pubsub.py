"""A pub/sub connection to one node, until it breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Protocol

from redis.crc import key_slot

from .concurrency._async.background_task import RunningTask, cancel_and_wait, spawn
from .concurrency._async.primitives import Event, sleep
from .transport._async.stream import AsyncPlainStream, AsyncStream, open_stream
from .transport.outcome import ErrorReply, Moved, outcome_of
from .transport.request import Request
from .transport.settings import Address, Settings

_PING_S: Final = 1.0
"""Seconds between two checks of the connection, while there are passive listeners."""

_IDLE_PING_S: Final = 15.0
"""Seconds without a message before the connection is checked otherwise."""


class Listener(Protocol):
    """What is notified of messages on a channel."""

    @property
    def passive(self) -> bool:
        """Return whether it relies on the connection, and does not check the state by itself."""

    def notify(self, message: bytes = b"") -> None:
        """Process a notification: something may be new, and *message* may say what."""


class _Channel:
    """A channel with its listener."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.confirmed = False
        self.ended = Event()


class PubSubConnection:
    """The subscriptions of this process at one node.

    Args:
        settings: how to connect.
        address: of the node.
    """

    def __init__(self, settings: Settings, address: Address) -> None:
        self._settings = settings
        self._address = address
        self._stream: AsyncStream | AsyncPlainStream | None = None
        self._pinging: RunningTask[None] | None = None
        self._channels: dict[bytes, _Channel] = {}
        self._unsubscribing: Counter[bytes] = Counter()
        self._passive = 0
        self._silence_s = 0.0
        self._unanswered_s = 0.0

    @property
    def closed(self) -> bool:
        """Return whether it is not open, or not any more."""
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
        except Exception as error:  # also of the user's code, such as a credential provider
            raise ConnectionError(str(error)) from error
        self._pinging = spawn(self._ping(), "holdfast notifier")

    async def subscribe(self, channel: str, listener: Listener) -> bool:
        """Notify *listener* of messages on *channel*, until the connection or subscription ends.

        Returns:
            Whether the server had confirmed the subscription.
        """
        name, subscribed = channel.encode(), _Channel(listener)
        self._channels[name] = subscribed
        self._passive += listener.passive
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

    def _send(self, *command: str) -> None:
        if self._stream is None:
            self._end()
        else:
            self._stream.write(Request.of(*command).payload)

    async def _ping(self) -> None:
        """Ping the node when it is silent, and abort the connection if it does not answer."""
        while self._stream is not None:
            await sleep(_PING_S)
            self._silence_s += _PING_S
            due_s = _PING_S if self._passive else _IDLE_PING_S
            if self._unanswered_s >= self._settings.timeout_s:
                self._abort()
            elif self._unanswered_s or self._silence_s >= due_s:
                self._unanswered_s += _PING_S
                self._send("PING")

    def _receive(self, messages: Sequence[Any]) -> None:
        """Process messages and confirmations of subscriptions: both may mean news."""
        self._silence_s = self._unanswered_s = 0.0
        for message in messages:
            if not isinstance(message, ErrorReply):
                self._process(message)
            elif not self._end_moved(message):  # any other error ends the connection
                self._abort()
                return

    def _process(self, message: Any) -> None:
        kind, name = message[0], message[1]
        if kind == b"sunsubscribe" and self._unsubscribing[name]:
            self._unsubscribing[name] -= 1  # as requested; a later subscription stays
            if not self._unsubscribing[name]:
                del self._unsubscribing[name]
            return
        subscribed = self._channels.get(name)
        if subscribed is None:
            return
        subscribed.confirmed = True
        subscribed.listener.notify(message[2] if kind == b"smessage" else b"")
        if kind == b"sunsubscribe":  # the slot has moved to another node
            subscribed.ended.set()

    def _end_moved(self, error: ErrorReply) -> bool:
        """End the subscriptions of a slot that has moved; return whether *error* says so."""
        outcome = outcome_of(error, self._address)
        if not isinstance(outcome, Moved):
            return False
        for name, subscribed in self._channels.items():
            if key_slot(name) == outcome.slot:
                subscribed.ended.set()
        for name in [each for each in self._unsubscribing if key_slot(each) == outcome.slot]:
            del self._unsubscribing[name]  # the node has dropped the subscription by itself
        return True

    def _abort(self) -> None:
        if self._stream is not None:
            self._stream.abort()
        self._end()

    def _end(self, reason: str = "") -> None:
        """End all subscriptions: their listeners need another connection."""
        del reason  # the next connection reports it, if it matters
        self._stream = None
        for subscribed in self._channels.values():
            subscribed.ended.set()
