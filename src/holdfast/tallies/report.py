"""What a tally tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class TallyReport:
    """What one `aggregate` has done so far.

    Attributes:
        files: that were read to their ends.
        damaged: files among the others that were given up; what came before the damage counts.
        taken: files that another consumer counts on, as this one was silent for too long.
        lines: that were read here and committed, the rejected ones included.
        rejected: lines among them that count for nothing.
        bytes: of these lines.
        commits: by which they were added.
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
    """Lines of a day that count for nothing.

    Attributes:
        reasons: why → how many.
        samples: the first few, each cut to 200 bytes.
    """

    reasons: dict[str, int]
    samples: list[bytes]

    @property
    def lines(self) -> int:
        """How many there are."""
        return sum(self.reasons.values())


class Count(NamedTuple):
    """How often a value came.

    Attributes:
        value: such as `US`.
        lines: in which it was.
    """

    value: str
    lines: int


class Change(NamedTuple):
    """How often a value came on two days.

    Attributes:
        value: such as `US`.
        before: lines of the one day.
        after: lines of the other.
    """

    value: str
    before: int
    after: int
