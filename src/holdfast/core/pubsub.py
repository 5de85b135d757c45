"""A subscription connection to one node, for as long as it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Protocol

from redis.crc import key_slot

from .concurrency._async.waiting import Event, Running, cancelled, sleep, spawn
from .transport._async.stream import AsyncPlainStream, AsyncStream, open_stream
from .transport.outcome import ErrorReply, Moved, outcome_of
from .transport.request import Request
from .transport.settings import Address, Settings

_ASK_S: Final = 1.0
"""While there are patient listeners, the line is asked this often whether it lives."""

_QUIET_S: Final = 15.0
"""Otherwise only after this long without a word."""


class Listener(Protocol):
    """Who hears a channel."""

    @property
    def patient(self) -> bool:
        """Whether it relies on the line, and does not look by itself."""

    def ring(self, word: bytes = b"") -> None:
        """Something may be new; *word* says what, if anything."""


class _Subscription:
    """Who hears a channel on a line."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.confirmed = False
        self.ended = Event()


class Line:
    """The subscriptions of this process at one node.

    Args:
        settings: how to connect.
        address: of the node.
    """

    def __init__(self, settings: Settings, address: Address) -> None:
        self._settings = settings
        self._address = address
        self._stream: AsyncStream | AsyncPlainStream | None = None
        self._asking: Running[None] | None = None
        self._listeners: dict[bytes, _Subscription] = {}
        self._leaving: Counter[bytes] = Counter()
        self._patient = 0
        self._silence_s = 0.0
        self._unanswered_s = 0.0

    @property
    def dead(self) -> bool:
        """Whether it is not open, or not any more."""
        return self._stream is None

    async def open(self) -> None:
        """Connect.

        Raises:
            ConnectionError: it cannot be.
        """
        try:
            self._stream = await open_stream(self._settings, self._address, self._hear, self._end)
        except Exception as error:  # also what the user gave, such as a provider of credentials
            raise ConnectionError(str(error)) from error
        self._asking = spawn(self._ask(), "holdfast bell")

    async def subscribe(self, channel: str, listener: Listener) -> bool:
        """Wake *listener* at each ring of *channel*, until the line or the subscription ends.

        Returns:
            Whether the server had confirmed it.
        """
        name, subscription = channel.encode(), _Subscription(listener)
        self._listeners[name] = subscription
        self._patient += listener.patient
        try:
            self._say("SSUBSCRIBE", channel)
            await subscription.ended.wait(None)
        finally:
            del self._listeners[name]
            self._patient -= listener.patient
            if not self.dead and not subscription.ended.is_set():
                self._leaving[name] += 1
                self._say("SUNSUBSCRIBE", channel)
        return subscription.confirmed

    async def close(self) -> None:
        """Hang up."""
        stream = self._stream
        self._end()
        if stream is not None:
            await stream.close()
        if self._asking is not None:
            await cancelled(self._asking)

    def _say(self, *command: str) -> None:
        if self._stream is None:
            self._end()
        else:
            self._stream.write(Request.of(*command).payload)

    async def _ask(self) -> None:
        """Ask the node whether it lives when it is silent, and hang up when it stays so."""
        while self._stream is not None:
            await sleep(_ASK_S)
            self._silence_s += _ASK_S
            if self._unanswered_s >= self._settings.timeout_s:
                self._hang_up()
            elif self._unanswered_s or self._silence_s >= (_ASK_S if self._patient else _QUIET_S):
                self._unanswered_s += _ASK_S
                self._say("PING")

    def _hear(self, messages: Sequence[Any]) -> None:
        """Rings, and confirmations of subscriptions: both mean that something may be new."""
        self._silence_s = self._unanswered_s = 0.0
        for message in messages:
            if not isinstance(message, ErrorReply):
                self._heard(message)
            elif not self._moved(message):  # any other error ends the line
                self._hang_up()
                return

    def _heard(self, message: Any) -> None:
        kind, channel = message[0], message[1]
        if kind == b"sunsubscribe" and self._leaving[channel]:
            self._leaving[channel] -= 1  # as was asked for; who came since stays
            if not self._leaving[channel]:
                del self._leaving[channel]
            return
        subscription = self._listeners.get(channel)
        if subscription is None:
            return
        subscription.confirmed = True
        subscription.listener.ring(message[2] if kind == b"smessage" else b"")
        if kind == b"sunsubscribe":  # the slot has moved to another node
            subscription.ended.set()

    def _moved(self, error: ErrorReply) -> bool:
        """Whether *error* says that a slot is elsewhere, so that nobody hears it here."""
        outcome = outcome_of(error, self._address)
        if not isinstance(outcome, Moved):
            return False
        for channel, subscription in self._listeners.items():
            if key_slot(channel) == outcome.slot:
                subscription.ended.set()
        for channel in [each for each in self._leaving if key_slot(each) == outcome.slot]:
            del self._leaving[channel]  # nobody was there to leave
        return True

    def _hang_up(self) -> None:
        if self._stream is not None:
            self._stream.abort()
        self._end()

    def _end(self, reason: str = "") -> None:
        """The line is dead: whoever hears on it has to go to another one."""
        del reason  # the next one will say it, if it matters
        self._stream = None
        for subscription in self._listeners.values():
            subscription.ended.set()
