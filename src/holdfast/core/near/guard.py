"""Decide until when values of one server may be served from memory.

The promise: **a read that begins one second after a write has returned either sees that write or is
not served from memory.**

A server reports changed keys on an invalidation connection. It puts the report of a write into the
connection's output before it sends the reply to the writer. The client pings the server over the
same connection every `PING_S`, one ping at a time, and notes the local time `s` at which each ping
began. When the answer has arrived, the client has also processed the reports of all writes that had
returned before `s`. From then on, values may be served until `s + VALID_S`.

Let a write return at `w`, and let a read begin at `r >= w + 1`. The read is served from memory only
if `r < s + VALID_S` for a confirmed ping that began at `s`. Then

    s > r - VALID_S >= w + 1 - 0.75 = w + 0.25

so the ping began after the write had returned, its report was processed, and the value is no longer
in memory. The difference of 0.25 s is a margin for the time between reading the clock and returning
the value.

A ping also confirms that the server is still the primary of its slots (see `ownership.py`). Values
that were read from another server than the one with the guard are not stored.

All times are read from a clock that is never set, and that runs while the machine is suspended.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..transport.settings import Address

PING_S: Final = 0.25
"""Seconds between the beginnings of two pings."""

VALID_S: Final = 0.75
"""Seconds after the beginning of a confirmed ping for which values may be served."""

# `since_boot` without the call of a Python function, because each hit reads this clock.
clock: Final = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic
)


class Guard:
    """The right to serve values of one server, as long as its connection is confirmed.

    A guard that has ended never serves again, so the values that were stored under it are lost.

    Args:
        address: address of the server; None: a guard that serves nothing.
        slots: the hash slots for which the server is the primary; None: all.

    Attributes:
        until: local time until which values may be served. Readers only compare it.
        longest_s: longest time after the beginning of a confirmed ping in which values were served.
        prefixes: prefixes of keys; the server reports changes of keys with these prefixes.
    """

    __slots__ = ("_since", "address", "longest_s", "prefixes", "slots", "until")

    def __init__(self, address: Address | None, slots: frozenset[int] | None = None) -> None:
        self.address: Address | None = address
        self.slots: frozenset[int] | None = slots
        self.until: float = 0.0 if address is not None else -inf
        self.prefixes: frozenset[str] = frozenset()
        self.longest_s: float = 0.0
        self._since: float | None = None

    @property
    def ended(self) -> bool:
        """Return whether the guard never serves again."""
        return self.until == -inf

    def staleness_s(self) -> float | None:
        """Return the seconds since the last confirmed ping began; None if nothing is served."""
        now = clock()
        return None if self._since is None or now >= self.until else now - self._since

    def confirm(self, since: float) -> None:
        """Allow serving values, because a ping that began at *since* was answered."""
        if self.ended:
            return
        if self._since is not None:
            self.longest_s = max(self.longest_s, min(clock() - self._since, VALID_S))
        self._since = since
        self.until = since + VALID_S

    def end(self) -> None:
        """Serve no value any more."""
        self.until = -inf


NO_GUARD: Final = Guard(None)
"""The guard of a server without an invalidation connection. It serves nothing."""
