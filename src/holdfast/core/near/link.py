"""Hold the invalidation connection to one server, until it breaks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import hiredis

from ..concurrency._async.primitives import Event
from ..transport._async.stream import AsyncPlainStream, AsyncStream, open_stream
from ..transport.outcome import ErrorReply
from ..transport.request import Part, Request
from ..transport.settings import Address, Settings

CHANNEL: Final = "__redis__:invalidate"
"""Channel of invalidations in RESP 2."""

_ON: Final = ("CLIENT", "TRACKING", "ON")

OnChanged = Callable[[list[bytes] | None], None]
"""Called with the names of changed keys; None: any key may have changed."""


class _SentCommand:
    """A command that was sent. When it has ended: its reply, or why there is no reply."""

    def __init__(self) -> None:
        self.ended = Event()
        self.reply: Any = None
        self.problem = ""

    def end(self, reply: Any, problem: str = "") -> None:
        self.reply, self.problem = reply, problem
        self.ended.set()


class TrackingLink:
    """A connection on which a server reports the changes of keys (`CLIENT TRACKING … BCAST`).

    With RESP 3 the server pushes the reports. With RESP 2 it sends them as messages of a channel,
    to which the connection subscribes; it redirects them to itself. RESP 2 is used if the user's
    client asks for it, or has a connection class of the user.

    Args:
        settings: settings of the connection.
        address: address of the server.
        on_changed: called with the keys that have changed, in the order of their changes.
    """

    def __init__(self, settings: Settings, address: Address, on_changed: OnChanged) -> None:
        self.address = address
        self.resp3: bool = settings.protocol == 3 and settings.foreign is None
        self.prefixes: frozenset[str] = frozenset()
        self._tracked: frozenset[str] = frozenset()
        self._settings = settings
        self._on_changed = on_changed
        self._stream: AsyncStream | AsyncPlainStream | None = None
        self._calls: deque[_SentCommand] = deque()
        self._problem = ""

    async def open(self, prefixes: Iterable[str]) -> None:
        """Connect, and track all keys with *prefixes*.

        Raises:
            ConnectionError: the connection failed, or the server refused a command.
        """
        try:
            self._stream = await open_stream(self._settings, self.address, self._receive, self._end)
        except Exception as error:  # The user's credential provider may raise any exception.
            raise ConnectionError(str(error)) from error
        if self.resp3:
            await self._call("HELLO", 3)
        else:
            self._redirected = ("REDIRECT", await self._call("CLIENT", "ID"))
            # Subscribe last, because a subscribed connection accepts hardly any other command.
        await self.track(prefixes)
        if not self.resp3:
            await self._call("SUBSCRIBE", CHANNEL)

    async def track(self, prefixes: Iterable[str]) -> None:
        """Track keys with *prefixes*, beside those that are tracked already.

        Raises:
            ConnectionError: as `open`; or the server would have to track a shorter prefix in place
                of one that it tracks already.
        """
        wanted = self.prefixes.union(prefixes)
        tracked = _shortest(wanted)
        if not self._tracked <= tracked:
            raise ConnectionError("another connection is needed to track shorter prefixes")
        if added := tracked - self._tracked:
            words: list[Part] = [*_ON, *(() if self.resp3 else self._redirected), "BCAST"]
            for prefix in sorted(added):
                words += ["PREFIX", prefix]
            await self._call(*words)
        self._tracked, self.prefixes = tracked, wanted

    async def ping(self) -> None:
        """Wait until the server has answered. All earlier reports are then processed.

        Raises:
            ConnectionError: the connection broke, or the server did not answer in time.
        """
        await self._call("PING")

    async def close(self) -> None:
        """Close the connection."""
        stream = self._stream
        self._end("it was closed")
        if stream is not None:
            await stream.close()

    async def _call(self, *command: Part) -> Any:
        """Send a command, and return its reply. Raise ConnectionError if it fails."""
        if self._stream is None:
            raise ConnectionError(self._problem)
        call = _SentCommand()
        self._calls.append(call)
        self._stream.write(Request.of(*command).payload)
        if not await call.ended.wait(self._settings.timeout_s):
            self._abort(self._settings.explained(self.address, ""))
        if call.problem:
            raise ConnectionError(call.problem)
        return call.reply

    def _receive(self, replies: Sequence[Any]) -> None:
        """Process reports and replies in the order in which the server sent them."""
        for reply in replies:
            if isinstance(reply, hiredis.PushNotification):
                if reply[0] == b"invalidate":
                    self._on_changed(reply[1])
            elif isinstance(reply, list) and reply[:1] == [b"message"]:
                self._on_changed(reply[2])
            elif self._calls:
                problem = str(reply) if isinstance(reply, ErrorReply) else ""
                problem = problem and self._settings.explained(self.address, problem)
                self._calls.popleft().end(reply, problem)

    def _abort(self, reason: str) -> None:
        if self._stream is not None:
            self._stream.abort()
        self._end(reason)

    def _end(self, reason: str) -> None:
        """Let all calls in progress fail."""
        self._stream = None
        self._problem = self._problem or reason
        while self._calls:
            self._calls.popleft().end(None, self._problem or "the connection ended")


def _shortest(prefixes: Iterable[str]) -> frozenset[str]:
    """Return those of *prefixes* that do not begin with another one of them.

    The server refuses to track a prefix that begins with another tracked prefix.
    """
    found: list[str] = []
    for prefix in sorted(prefixes):  # A prefix is followed by those that begin with it.
        if not found or not prefix.startswith(found[-1]):
            found.append(prefix)
    return frozenset(found)
