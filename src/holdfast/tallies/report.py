"""Define the results that a tally returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class TallyReport:
    """Report what one call of `aggregate` has done so far.

    Attributes:
        files: number of files that were counted to their end.
        damaged: number of damaged files. Their lines before the damage are counted.
        taken: number of files that were assigned to another consumer, because this consumer did
            not renew its lease.
        lines: number of lines that were committed, including rejected lines.
        rejected: number of lines that were rejected.
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
    """Hold the number of rejected lines of a day, and samples of them.

    Attributes:
        reasons: reason → number of lines.
        samples: up to ten of the rejected lines, each cut to 200 bytes.
    """

    reasons: dict[str, int]
    samples: list[bytes]

    @property
    def lines(self) -> int:
        """Return how many lines were rejected."""
        return sum(self.reasons.values())


class Count(NamedTuple):
    """Hold the number of lines that have a value.

    Attributes:
        value: for example `US`.
        lines: number of lines.
    """

    value: str
    lines: int


class Change(NamedTuple):
    """Hold the numbers of lines that have a value on two days.

    Attributes:
        value: for example `US`.
        before: number of lines on the first day.
        after: number of lines on the second day.
    """

    value: str
    before: int
    after: int
