"""Results that a tally returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class TallyReport:
    """What one call of `aggregate` has done so far.

    Attributes:
        files: files that were read to their end.
        damaged: other files that are damaged; the lines before the damage count.
        taken: other files that another consumer took over, because this one was silent too long.
        lines: lines that were read and committed, including the rejected ones.
        rejected: lines that were rejected.
        bytes: bytes of the lines.
        commits: number of commits.
    """

    files: int = 0
    damaged: int = 0
    taken: int = 0
    lines: int = 0
    rejected: int = 0
    bytes: int = 0
    commits: int = 0


@dataclass(frozen=True, slots=True)
class Rejected:
    """The rejected lines of a day.

    Attributes:
        reasons: number of lines for each reason.
        samples: the first rejected lines, each cut to 200 bytes.
    """

    reasons: dict[str, int]
    samples: list[bytes]

    @property
    def lines(self) -> int:
        """Return how many lines were rejected."""
        return sum(self.reasons.values())


class Count(NamedTuple):
    """How many lines have a value.

    Attributes:
        value: for example `US`.
        lines: number of lines.
    """

    value: str
    lines: int


class Change(NamedTuple):
    """How many lines have a value on two days.

    Attributes:
        value: for example `US`.
        before: number of lines on the one day.
        after: number of lines on the other day.
    """

    value: str
    before: int
    after: int
