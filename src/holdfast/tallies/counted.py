"""What is counted: lines, by day and dimension."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple, Protocol

from .days import Span

SAMPLES: Final = 10
"""Rejected lines of a day that are kept for people to look at."""

SAMPLE_BYTES: Final = 200
"""Of each, from its beginning."""

MALFORMED: Final = "malformed"
NO_ADDRESS: Final = "no address"
NO_DAY: Final = "no day"
FAR_DAY: Final = "far-away day"
NO_COUNTED: Final = "no Counted"
NO_VALUE: Final = "no value"
OVERLONG: Final = "overlong"
REFUSED: Final = "refused"


class Counted(NamedTuple):
    """What one line counts for, as a key function says.

    Attributes:
        day: a date, or its text: `2011-10-10`.
        values: dimension → value: in each of these dimensions the line counts for that value.
    """

    day: str | date
    values: Mapping[str, str]


@dataclass(slots=True)
class Sums:
    """Lines that were counted, and are to be added to a tally.

    Attributes:
        lines: of each day.
        values: of each day and dimension, value → lines.
        rejected: of each day, or '' where it could not be read: reason → lines.
        samples: likewise, some of these lines.
        mark: tells the file that they are of from others, up to the last of them; empty: its id
            does.
    """

    lines: dict[str, int] = field(default_factory=dict)
    values: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    rejected: dict[str, dict[str, int]] = field(default_factory=dict)
    samples: dict[str, list[bytes]] = field(default_factory=dict)
    mark: str = ""

    def reject(self, day: str, reason: str, lines: int = 1) -> None:
        """Count *lines* of *day* as rejected."""
        reasons = self.rejected.setdefault(day, {})
        reasons[reason] = reasons.get(reason, 0) + lines

    def add(self, day: str, dimension: str, values: dict[str, int]) -> None:
        """Add lines of *day* by their values; *values* belong to this afterwards."""
        known = self.values.setdefault((day, dimension), values)
        if known is not values:
            for value, lines in values.items():
                known[value] = known.get(value, 0) + lines

    def sample(self, day: str, line: bytes) -> None:
        """Keep *line* for people to look at, if there are not enough."""
        kept = self.samples.setdefault(day, [])
        if len(kept) < SAMPLES:
            kept.append(line[:SAMPLE_BYTES])


class Counter(Protocol):
    """Counts lines by what it reads from them. Used by one thread at a time."""

    @property
    def size(self) -> int:
        """How many different counts have come together, about."""

    def add(self, data: bytes, span: Span) -> int:
        """Count whole lines, each ended by a newline, the last one perhaps not. How many?"""

    def turn(self, data: bytes) -> int:
        """Where in whole lines a day begins that none of the lines before was of; 0: nowhere."""

    def overlong(self, lines: int) -> None:
        """Count lines that were too long to be read."""

    def take(self) -> Sums:
        """What was counted since the last time."""
