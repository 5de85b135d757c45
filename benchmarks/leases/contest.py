"""What came out of one contest for a lock or semaphore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from ..harness import Taken


@dataclass(frozen=True, slots=True)
class Contest:
    """One round of one contender.

    Attributes:
        seconds: that counted.
        cycles: of each waiter, those that were over while it counted.
        visits: of all together, also before and after.
        p50_ms: that half of all acquisitions had to wait at most.
        p99_ms: that 99 of 100 had to wait at most.
        longest_ms: that any had to wait, also one that ended too late.
        peak: so many were in at once.
        allowed: so many might.
        cpu_s: of all processes.
    """

    seconds: float
    cycles: tuple[int, ...]
    visits: int
    p50_ms: float
    p99_ms: float
    longest_ms: float
    peak: int
    allowed: int
    cpu_s: float

    @classmethod
    def of(cls, seconds: float, allowed: int, answers: Sequence[Mapping[str, Any]]) -> Contest:
        """Return the contest that the processes report."""
        callers = [caller for answer in answers for caller in answer["callers"]]
        waits_ms = [wait_us / 1000 for caller in callers for wait_us in caller["waits_us"]]
        cuts = quantiles(waits_ms * 2, n=100, method="inclusive")  # also if there is only one
        peak = max(caller["peak"] for caller in callers)
        cpu_s = sum(answer["cpu_s"] for answer in answers)
        cycles = tuple(caller["done"] for caller in callers)
        longest_ms = max(waits_ms)
        return cls(
            seconds, cycles, len(waits_ms), cuts[49], cuts[98], longest_ms, peak, allowed, cpu_s
        )

    @property
    def total(self) -> int:
        """Cycles of all."""
        return sum(self.cycles)

    @property
    def inequality(self) -> float:
        """Return the cycles of the most successful waiter over those of the least successful."""
        return max(self.cycles) / max(1, min(self.cycles))

    @property
    def overrun(self) -> bool:
        """Return whether more were inside at once than allowed."""
        return self.peak > self.allowed

    def taken(self) -> Taken:
        """Return the same for the harness: processor time and commands for all visits."""
        wall_s = self.seconds * self.visits / max(1, self.total)
        return Taken(wall_s, self.cpu_s, done=self.visits)
