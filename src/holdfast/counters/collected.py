"""The counts of a buffer, until each of them is added.

There is no lock: an exception from a signal handler may come while a thread holds one. Each change
is one step instead, after which every count is in exactly one place. The comments "one step" mark
statements in which CPython neither switches threads nor runs signal handlers: they call nothing.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ..errors.records import logger_of

logger: Final = logger_of("holdfast.counters")

FORGOTTEN_S: Final = 3000.0
"""After this long nobody can say any more whether an add without an answer was counted."""


class Due(msgspec.Struct, eq=False):
    """An add that is to be made.

    Attributes:
        name: of the counter.
        amount: what is added.
        since: local monotonic time when it was taken.
        op_id: under which it was made, and is repeated until it is answered; None: it was not made.
        fresh: whether no earlier try of it is without an answer.
    """

    name: str
    amount: int
    since: float
    op_id: str | None = None
    fresh: bool = True


class Collected:
    """What was counted and not yet added.

    Attributes:
        counts: by name, what was counted since the last flush began.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        # What flushes have taken: counts, and the adds made of them. Replaced as a whole.
        self._taken: tuple[tuple[dict[str, int], ...], dict[Due, None]] = ((), {})

    def __contains__(self, due: Due) -> bool:
        """Return whether *due* is still to be made."""
        return due in self._taken[1]

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is to be added."""
        return not self.counts and not any(self._taken)

    def add(self, name: str, count: int) -> bool:
        """Count; return False if *name* has to be begun first."""
        try:
            self.counts[name] += count  # one step
        except KeyError:
            return False
        return True

    def begin(self, name: str) -> int:
        """Make `add` possible for *name*; return how many names there are."""
        counts = self.counts
        counts.setdefault(name, 0)
        return len(counts)

    def take(self, now: float) -> list[Due]:
        """Return all adds that are to be made, those that were made before as they were."""
        self._freeze()
        while True:
            taken = self._taken
            merged = _merged(*taken, now)
            if self._taken is taken:
                self._taken = (), merged  # one step with the line above
                return list(merged)

    def settled(self, due: Due) -> None:
        """Forget *due*: it was added, or never can be."""
        self._taken[1].pop(due, None)

    def _freeze(self) -> None:
        """Begin new counts, and take those that were there."""
        counts = self.counts
        while self.counts is counts:
            frozen, due = taken = self._taken
            others = tuple(each for each in frozen if each is not counts)
            more = (*others, counts), due
            if self._taken is taken and self.counts is counts:
                self._taken, self.counts = more, {}  # one step with the line above


def _merged(
    frozen: tuple[dict[str, int], ...], due: dict[Due, None], now: float
) -> dict[Due, None]:
    """Return the adds for *frozen* and *due*: one for each name, besides those made before."""
    merged: dict[Due, None] = {}
    sums: dict[str, int] = {}
    for one in due:
        if one.op_id is None:
            sums[one.name] = sums.get(one.name, 0) + one.amount
        elif now - one.since < FORGOTTEN_S:
            merged[one] = None
        else:
            logger.error("nobody knows whether %d were added to %r", one.amount, one.name)
    for counts in frozen:
        for name, amount in counts.items():
            sums[name] = sums.get(name, 0) + amount
    for name, amount in sums.items():
        if amount:
            merged[Due(name, amount, now)] = None
    return merged
