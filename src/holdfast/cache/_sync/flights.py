# Generated from _async/flights.py by tools/unasync.py: edit that, then run `make sync`.
"""Keep the loads of one process: callers that miss the same value wait for one of them."""

from __future__ import annotations

from typing import Final

from ...core.concurrency._sync.local_resource import LocalResource
from ...core.concurrency._sync.primitives import Event
from ..stored_value import StoredValue

_REMEMBERED: Final = 10_000
"""Largest number of values that a process remembers because another one refreshes them."""


class Flight:
    """One caller gets a value, by computing it or by waiting for another process; others wait.

    Attributes:
        done: set when the caller has ended.
        followers: number of callers that wait for it.
        found: a value that was read after all followers had begun to wait; None: each of them
            tries itself.
        error: the exception of the function.
        is_unstored: whether the result cannot or must not be stored, so that each follower calls
            the function.
    """

    __slots__ = ("done", "error", "followers", "found", "is_unstored")

    def __init__(self) -> None:
        self.done = Event()
        self.followers = 0
        self.found: StoredValue | None = None
        self.error: Exception | None = None
        self.is_unstored = False


class Flights:
    """The flights of one function in one process (in asyncio: in one loop).

    Attributes:
        refreshing: values that this process refreshes now.
    """

    def __init__(self) -> None:
        self.refreshing: set[str] = set()
        self._flights: dict[str, Flight] = {}
        self._quiet_until: dict[str, float] = {}

    def enter(self, text: str) -> tuple[Flight, bool]:
        """Return the flight for a value, and whether the caller has started it.

        The caller that has started it must call `end`.
        """
        flight = Flight()
        current = self._flights.setdefault(text, flight)  # atomic
        if current is not flight:
            current.followers += 1
        return current, current is flight

    def close(self, text: str, flight: Flight) -> bool:
        """Let no further callers follow. Return whether some do."""
        if self._flights.get(text) is flight:
            del self._flights[text]
        return flight.followers > 0

    def end(self, text: str, flight: Flight) -> None:
        """Wake all followers."""
        self.close(text, flight)
        flight.done.set()

    def is_quiet(self, text: str, now: float) -> bool:
        """Return whether the value is not to be refreshed now."""
        return text in self._flights or self._quiet_until.get(text, 0.0) > now

    def keep_quiet(self, text: str, until: float) -> None:
        """Do not refresh a value *until* then (local monotonic time)."""
        if len(self._quiet_until) >= _REMEMBERED:
            self._quiet_until.clear()
        self._quiet_until[text] = until


def local_flights() -> LocalResource[Flights]:
    """Return the flights of a function, which each loop has for itself."""
    return LocalResource(Flights)
