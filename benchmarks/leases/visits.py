"""What one waiter saw in one contest."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from .occupancy import Occupancy


@dataclass(frozen=True, slots=True)
class Rules:
    """Of one contest.

    Attributes:
        name: of the lock or semaphore.
        limit: of the semaphore; None: it is a lock.
        callers: of each process that take part; None: all.
        hold_s: how long each stays inside.
        begin_ns: when all begin, by the system's monotonic clock, the same in all processes.
        count_ns: when visits begin to count, because some clients start late.
        end_ns: when no client asks any more.
    """

    name: str
    limit: int | None
    callers: int | None
    hold_s: float
    begin_ns: int
    count_ns: int
    end_ns: int

    def left_s(self) -> float:
        """Return the seconds until all begin."""
        return max(0.0, (self.begin_ns - time.monotonic_ns()) / 1e9)


class Visits:
    """A waiter's own count: `asks`, `enters` and `leaves`, over and over.

    Args:
        occupancy: where it is registered while it holds a permit.
        number: its own.
        rules: when visits count, and when it asks no more.
    """

    def __init__(self, occupancy: Occupancy, number: int, rules: Rules) -> None:
        self._occupancy = occupancy
        self._number = number
        self._rules = rules
        self._asked_ns = 0
        self._waits_us: list[int] = []
        self._peak = 0
        self._in_time = 0

    def asks(self) -> bool:
        """End the last visit, and return whether there is time for one more."""
        now_ns = time.monotonic_ns()
        if self._waits_us:
            self._in_time += self._rules.count_ns <= now_ns < self._rules.end_ns
            if now_ns >= self._rules.end_ns:
                return False
        self._asked_ns = now_ns
        return True

    def enters(self) -> None:
        """Record that the permit was acquired."""
        self._waits_us.append((time.monotonic_ns() - self._asked_ns) // 1000)
        self._peak = max(self._peak, self._occupancy.enter(self._number))

    def leaves(self) -> None:
        """Record that the permit is about to be released."""
        self._occupancy.leave(self._number)

    def result(self) -> dict[str, Any]:
        """Return how many visits count, what each one waited, and how many were inside at once."""
        return {"done": self._in_time, "waits_us": self._waits_us, "peak": self._peak}
