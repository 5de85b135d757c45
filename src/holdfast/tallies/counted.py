"""Define blocks of lines, counters of lines, and the counts that they return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final, NamedTuple, Protocol

from .days import DayRange

SAMPLES: Final = 10
"""Number of rejected lines of each day that are kept as samples."""

SAMPLE_BYTES: Final = 200
"""Maximum bytes of a sample; a longer line is cut off."""

MALFORMED: Final = "malformed"
NO_ADDRESS: Final = "no address"
NO_DAY: Final = "no day"
FAR_DAY: Final = "day out of range"
NO_COUNTED: Final = "no Counted"
NO_VALUE: Final = "no value"
OVERLONG: Final = "overlong"
REFUSED: Final = "refused"


class Counted(NamedTuple):
    """Name the day and the values to which one line is added. A key function returns it.

    Attributes:
        day: the day, as a date or as text: `2011-10-10`.
        values: dimension → the value to which the line is added.
    """

    day: str | date
    values: Mapping[str, str]


@dataclass(slots=True)
class LineCounts:
    """Collect counts of lines that a commit will add to a tally.

    Attributes:
        lines: day → number of lines.
        values: (day, dimension) → value → number of lines.
        rejected: day → reason → number of rejected lines; the day is '' if it is unknown.
        samples: day → some of its rejected lines.
        mark: digest that distinguishes the file, up to the last counted line, from others with the
            same id; empty if the id is unique.
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
        """Add the number of lines of each value. The caller must not change *values* afterwards."""
        known = self.values.setdefault((day, dimension), values)
        if known is not values:
            for value, lines in values.items():
                known[value] = known.get(value, 0) + lines

    def sample(self, day: str, line: bytes) -> None:
        """Keep a rejected line as a sample, unless *day* has enough samples."""
        kept = self.samples.setdefault(day, [])
        if len(kept) < SAMPLES:
            kept.append(line[:SAMPLE_BYTES])


class LineBlock(Protocol):
    """Describe a block of whole lines of a file."""

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
        """Return 1 if the block stands for a line that was skipped because it is too long."""


class LineCounter(Protocol):
    """Describe a counter of lines. Only one thread at a time uses it."""

    @property
    def size(self) -> int:
        """Estimate how many counts, one for each day, dimension and value, are in memory."""

    def add(self, data: bytes, days: DayRange) -> int:
        """Count the lines in *data*, and return their number. The last may have no line end."""

    def new_day_offset(self, data: bytes) -> int:
        """Return the offset in *data* at which a day begins that was not counted before.

        Return 0 if no such day begins, or if the counter cannot know it.
        """

    def reject_overlong(self, lines: int) -> None:
        """Count *lines* lines as rejected because they are too long."""

    def take(self) -> LineCounts:
        """Return the counts since the last call, and begin again with empty counts."""


class CountedRange(NamedTuple):
    """Hold a counted range of a file, for a commit.

    Attributes:
        start: offset at which the range begins.
        end: offset at which the range ends.
        lines: number of lines in the range.
        counter: the counter that counted these lines, and no others.
        mark: digest that distinguishes the file up to `end` from others with the same id.
    """

    start: int
    end: int
    lines: int
    counter: LineCounter
    mark: str
