"""Lines to be counted, what they count for, and their counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple, Protocol

from .days import DayRange

SAMPLES: Final = 10
"""Rejected lines of each day that are kept as samples."""

SAMPLE_BYTES: Final = 200
"""Bytes of a sample: the rest of the line is cut off."""

MALFORMED: Final = "malformed"
NO_ADDRESS: Final = "no address"
NO_DAY: Final = "no day"
FAR_DAY: Final = "day out of range"
NO_COUNTED: Final = "no Counted"
NO_VALUE: Final = "no value"
OVERLONG: Final = "overlong"
REFUSED: Final = "refused"


class Counted(NamedTuple):
    """What one line counts for; a key function returns it.

    Attributes:
        day: a date, or its text: `2011-10-10`.
        values: for each dimension the value for which the line counts.
    """

    day: str | date
    values: Mapping[str, str]


@dataclass(slots=True)
class LineCounts:
    """Counts of lines that are to be added to a tally.

    Attributes:
        lines: number of lines by day.
        values: by day and dimension, the number of lines for each value.
        rejected: by day, the number of lines for each reason; the day is empty if it is unknown.
        samples: by day, some of the rejected lines.
        mark: digest that distinguishes the file from others up to the last line; empty if the id
            of the file is enough.
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
        """Add lines of *day* by their values. Afterwards *values* may be changed here."""
        known = self.values.setdefault((day, dimension), values)
        if known is not values:
            for value, lines in values.items():
                known[value] = known.get(value, 0) + lines

    def sample(self, day: str, line: bytes) -> None:
        """Keep a rejected line as a sample, unless there are enough."""
        kept = self.samples.setdefault(day, [])
        if len(kept) < SAMPLES:
            kept.append(line[:SAMPLE_BYTES])


class LineBlock(Protocol):
    """Whole lines of a file."""

    @property
    def offset(self) -> int:
        """Return the offset in the file at which the block begins."""

    @property
    def end(self) -> int:
        """Return the offset at which the next block begins."""

    @property
    def data(self) -> bytes:
        """Return the lines, each with its line end."""

    @property
    def overlong(self) -> int:
        """Return how many lines were left out because they are too long."""


class LineCounter(Protocol):
    """Counts lines by what it reads from them. One thread at a time uses it."""

    @property
    def size(self) -> int:
        """Return about how many different counts were collected."""

    def add(self, data: bytes, days: DayRange) -> int:
        """Count whole lines, and return how many; the last one may have no line end."""

    def new_day_offset(self, data: bytes) -> int:
        """Return the offset in *data* at which the first line of a new day is; 0 if unknown."""

    def reject_overlong(self, lines: int) -> None:
        """Count lines that were too long to be read."""

    def take(self) -> LineCounts:
        """Return the counts since the last call, and begin again with empty counts."""


class CountedRange(NamedTuple):
    """A range of a file that was counted and is to be committed.

    Attributes:
        start: offset at which it begins.
        end: offset at which it ends.
        lines: number of its lines.
        counter: the counter that counted these lines, and no others.
        mark: digest that distinguishes the file from others up to `end`.
    """

    start: int
    end: int
    lines: int
    counter: LineCounter
    mark: str
