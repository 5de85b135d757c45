"""How something went while the world lived: instants, values, and whether it grew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Final

SETTLED: Final = 3
"""In so many parts a course is cut; it may grow in the first one, while it warms up."""

POINTS: Final = 12
"""Fewer say nothing."""

GROWTH: Final = 0.03


@dataclass(frozen=True, slots=True)
class Course:
    """Values in the order of their instants.

    Args:
        name: of whose they are.
        what: they are; with a unit in which *slack* and all values are.
        slack: so much more, and 3 %, is no growth: what comes and goes.
        points: instants, in seconds, and values.
    """

    name: str
    what: str
    slack: float
    points: list[tuple[float, float]] = field(default_factory=list)

    @property
    def lasted_s(self) -> float:
        """From the first to the last one."""
        return self.points[-1][0] - self.points[0][0] if self.points else 0.0

    def parts(self) -> Sequence[float]:
        """The median of the beginning, of the middle and of the end; none if these are too few."""
        if len(self.points) < POINTS:
            return ()
        values = [value for _, value in self.points]
        ends = [len(values) * part // SETTLED for part in range(SETTLED + 1)]
        return [median(values[a:b]) for a, b in pairwise(ends)]

    def grew(self) -> bool:
        """Whether there was more of it at the end than in the middle, once it had settled.

        What grows a little with everything that is done goes on growing in the last third; what
        fills a pool, a cache or the allocator's reserve has ended by then.
        """
        parts = self.parts()
        return bool(parts) and parts[-1] > parts[-2] * (1 + GROWTH) + self.slack

    def told(self) -> str:
        """In a sentence."""
        first, middle, last = self.parts()
        return f"{self.what} of {self.name}: {first:,.1f}, then {middle:,.1f}, then {last:,.1f}"
