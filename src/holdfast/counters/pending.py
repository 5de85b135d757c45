"""Hold the counts of a buffer that are not yet added on the server.

With the interpreter lock, no other lock guards the counts, because a signal handler could raise, or
call `add`, while its thread holds the lock. Instead, each change is atomic, and after each change
every count is in exactly one dict. The comment "atomic" marks statements that call no Python code,
so that CPython neither switches threads nor runs a signal handler in them. Without the interpreter
lock, other threads still run between the operations of such a statement. `GuardedPendingCounts`
prevents that with a mutex.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ..core.concurrency.semaphore import Mutex
from ..core.concurrency.thread_frames import FREE_THREADED
from ..errors.one_line_logger import logger_of
from .definition import MAX_COUNT

logger: Final = logger_of("holdfast.counters")

FORGOTTEN_S: Final = 3000.0
"""Seconds after which an add is not repeated, because the ledger may have lost its entry."""

_MOST_PARTS: Final = 3


class PendingAdd(msgspec.Struct, eq=False):
    """An add to one counter that the server has not confirmed.

    Attributes:
        name: name of the counter.
        amount: the number to add.
        since: local monotonic time at which a flush first took this add.
        op_id: id of the operation; None: the add was never sent, or was certainly not applied.
        fresh: whether the current attempt is the first one under its `op_id`.
    """

    name: str
    amount: int
    since: float
    op_id: str | None = None
    fresh: bool = True


class PendingCounts:
    """The counts of a buffer.

    Attributes:
        counts: name of a counter → its count since the last flush began.
        is_closed: whether no count may begin any more. Set it before the last `take`.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.is_closed: bool = False
        # Counts that flushes have taken, and adds that were made of such counts. The pair is always
        # replaced as a whole.
        self._taken: tuple[tuple[dict[str, int], ...], dict[PendingAdd, None]] = ((), {})

    def __contains__(self, pending: PendingAdd) -> bool:
        """Return whether *pending* is not settled yet: the server may still have to apply it."""
        return pending in self._taken[1]

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to add."""
        return not self.counts and not any(self._taken)

    def add(self, name: str, count: int) -> bool:
        """Add *count* to the counter *name*. Return False if `begin` must be called first."""
        try:
            self.counts[name] += count  # atomic
        except KeyError:
            return False
        return True

    def begin(self, name: str) -> int:
        """Start the count of *name* at zero. Return the number of names that have a count.

        Raises:
            ValueError: The buffer is closed.
        """
        counts = self.counts  # Read before the check: then the last `take` takes these counts.
        if self.is_closed:
            raise ValueError("the counter buffer is closed")
        counts.setdefault(name, 0)
        return len(counts)

    def take(self, now: float) -> list[PendingAdd]:
        """Return the adds of all counts. An add that was sent before is returned unchanged."""
        self._freeze()
        while True:
            taken = self._taken
            merged = _merged(*taken, now)
            if self._taken is taken:
                self._taken = (), merged  # atomic together with the line above
                return list(merged)

    def settled(self, pending: PendingAdd) -> None:
        """Remove *pending*, because it was added or can never be added."""
        self._taken[1].pop(pending, None)

    def _freeze(self) -> None:
        """Move the current counts to `_taken`, and start with empty ones."""
        counts = self.counts
        while self.counts is counts:
            frozen, pending = taken = self._taken
            others = tuple(each for each in frozen if each is not counts)
            more = (*others, counts), pending
            if self._taken is taken and self.counts is counts:
                self._taken, self.counts = more, {}  # atomic together with the line above


class GuardedPendingCounts(PendingCounts):
    """The counts of a buffer, where other threads run at the same time.

    A signal handler of the thread that holds the mutex is admitted, and an exception of the handler
    does not leave it acquired.
    """

    def __init__(self) -> None:
        super().__init__()
        self._changing = Mutex()

    def add(self, name: str, count: int) -> bool:
        with self._changing:
            return super().add(name, count)

    def begin(self, name: str) -> int:
        with self._changing:
            return super().begin(name)

    def _freeze(self) -> None:
        with self._changing:
            super()._freeze()


def pending_counts() -> PendingCounts:
    """Return empty counts that all threads of this interpreter may change."""
    return GuardedPendingCounts() if FREE_THREADED else PendingCounts()


def _merged(
    frozen: tuple[dict[str, int], ...], pending: dict[PendingAdd, None], now: float
) -> dict[PendingAdd, None]:
    """Return the sent adds of *pending*, and one new add for all other counts of a name."""
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
        for name, amount in list(counts.items()):  # `begin` may add one, with no count.
            sums[name] = sums.get(name, 0) + amount
    for name, amount in sums.items():
        for part in _parts(amount):
            merged[PendingAdd(name, part, now)] = None
    return merged


def _parts(amount: int) -> list[int]:
    """Return *amount* as counts that one add can have.

    A sample cannot hold more than two such counts. So the add of a third one is always refused, and
    what is left of a larger amount can stay in it.
    """
    parts: list[int] = []
    while amount and len(parts) < _MOST_PARTS:
        part = max(-MAX_COUNT, min(amount, MAX_COUNT))
        parts.append(part)
        amount -= part
    return parts
