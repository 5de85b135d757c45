"""Share loads in one process: if several callers miss the same value, one loads it for all."""

from __future__ import annotations

from typing import Final

from ...core.concurrency._async.local_resource import LocalResource
from ...core.concurrency._async.primitives import Event
from ..stored_value import StoredValue

_REMEMBERED: Final = 10_000
"""Maximum number of values for which a process remembers not to refresh them for a while."""


class AsyncFlight:
    """A load of one value that several callers in one process share.

    One caller, the leader, gets the value: it computes it, or waits for another process that does.
    The other callers, the followers, wait for the leader.

    Attributes:
        done: set when the leader has the value or has failed.
        followers: number of followers.
        found: a value that was read after all followers had begun to wait; None: no value was read,
            so each follower reads or loads it by itself.
        error: the exception of the function, for all followers; None: it raised none.
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


class AsyncFlights:
    """The loads in progress that callers of one function share, in one process or event loop.

    Attributes:
        refreshing: values that this process refreshes now.
    """

    def __init__(self) -> None:
        self.refreshing: set[str] = set()
        self._flights: dict[str, AsyncFlight] = {}
        self._quiet_until: dict[str, float] = {}

    def enter(self, text: str) -> tuple[AsyncFlight, bool]:
        """Return the flight of the value with the key *text*, and whether the caller is its leader.

        If no flight exists, the caller starts one as its leader, and must call `end`.
        """
        flight = AsyncFlight()
        current = self._flights.setdefault(text, flight)  # atomic
        if current is not flight:
            current.followers += 1
        return current, current is flight

    def close(self, text: str, flight: AsyncFlight) -> bool:
        """Let no further callers join *flight*. Return whether it has followers."""
        if self._flights.get(text) is flight:
            del self._flights[text]
        return flight.followers > 0

    def end(self, text: str, flight: AsyncFlight) -> None:
        """Close *flight* and wake its followers."""
        self.close(text, flight)
        flight.done.set()

    def is_quiet(self, text: str, now: float) -> bool:
        """Return whether the value must not be refreshed now: a flight gets it, or `keep_quiet` was
        called for it."""
        return text in self._flights or self._quiet_until.get(text, 0.0) > now

    def keep_quiet(self, text: str, until: float) -> None:
        """Let no refresh of a value begin before *until* (local monotonic time)."""
        if len(self._quiet_until) >= _REMEMBERED:
            self._quiet_until.clear()
        self._quiet_until[text] = until


def local_flights() -> LocalResource[AsyncFlights]:
    """Return a holder for the flights of a function. Each event loop gets flights of its own."""
    return LocalResource(AsyncFlights)
