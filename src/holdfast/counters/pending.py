"""The counts of a buffer that are not yet added on the server.

No lock guards them: a signal handler may raise, or call `add`, while its thread holds a lock.
Instead, each change is a single step, and after each step every count is in exactly one dict. The
comment "one step" marks statements that call nothing, so that CPython neither switches threads nor
runs a signal handler in them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ..errors.records import logger_of

logger: Final = logger_of("holdfast.counters")

FORGOTTEN_S: Final = 3000.0
"""After so long the ledger may have forgotten an add, so it is not repeated."""


class PendingAdd(msgspec.Struct, eq=False):
    """An add to one counter that the server has not confirmed.

    Attributes:
        name: name of the counter.
        amount: what is added.
        since: local monotonic time at which a flush first took it.
        op_id: identifies it on the server once it was sent; None: it was never sent.
        fresh: whether no earlier attempt lost its reply.
    """

    name: str
    amount: int
    since: float
    op_id: str | None = None
    fresh: bool = True


class PendingCounts:
    """The counts of a buffer.

    Attributes:
        counts: what was counted since the last flush began, by name.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        # What flushes have taken: counts, and the adds made of them. Replaced as a whole.
        self._taken: tuple[tuple[dict[str, int], ...], dict[PendingAdd, None]] = ((), {})

    def __contains__(self, pending: PendingAdd) -> bool:
        """Return whether *pending* is still to be added."""
        return pending in self._taken[1]

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to add."""
        return not self.counts and not any(self._taken)

    def add(self, name: str, count: int) -> bool:
        """Add *count*; return False if `begin` must be called for *name* first."""
        try:
            self.counts[name] += count  # one step
        except KeyError:
            return False
        return True

    def begin(self, name: str) -> int:
        """Start the count of *name* at zero; return how many names there are."""
        counts = self.counts
        counts.setdefault(name, 0)
        return len(counts)

    def take(self, now: float) -> list[PendingAdd]:
        """Return everything that is to be added. Adds that were sent before stay as they were."""
        self._freeze()
        while True:
            taken = self._taken
            merged = _merged(*taken, now)
            if self._taken is taken:
                self._taken = (), merged  # one step with the line above
                return list(merged)

    def settled(self, pending: PendingAdd) -> None:
        """Forget *pending*: it was added, or can never be."""
        self._taken[1].pop(pending, None)

    def _freeze(self) -> None:
        """Move the current counts to `_taken`, and start empty ones."""
        counts = self.counts
        while self.counts is counts:
            frozen, pending = taken = self._taken
            others = tuple(each for each in frozen if each is not counts)
            more = (*others, counts), pending
            if self._taken is taken and self.counts is counts:
                self._taken, self.counts = more, {}  # one step with the line above


def _merged(
    frozen: tuple[dict[str, int], ...], pending: dict[PendingAdd, None], now: float
) -> dict[PendingAdd, None]:
    """Return one add per name for *frozen* and the unsent *pending*, and those sent before."""
    merged: dict[PendingAdd, None] = {}
    sums: dict[str, int] = {}
    for one in pending:
        if one.op_id is None:
            sums[one.name] = sums.get(one.name, 0) + one.amount
        elif now - one.since < FORGOTTEN_S:
            merged[one] = None
        else:
            logger.error("it is unknown whether %d were added to %r", one.amount, one.name)
    for counts in frozen:
        for name, amount in counts.items():
            sums[name] = sums.get(name, 0) + amount
    for name, amount in sums.items():
        if amount:
            merged[PendingAdd(name, amount, now)] = None
    return merged
