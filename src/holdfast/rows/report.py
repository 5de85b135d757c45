"""Define the status of a row cache, of a row, and of one refresh step. No I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from ..core.stored import stored_int, stored_score
from ..errors import DecodeError
from .row import CachedCopy, State
from .row_ids import RowId


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """Report what one refresh step did.

    Attributes:
        selected: number of due rows that this step tried to load.
        stored: number of rows that were written.
        unchanged: number of rows that were loaded but not written, because they had not changed.
        failed: number of rows that could not be loaded; they are tried again.
        refused: number of rows that were loaded but not written, because they were invalidated,
            unscheduled or claimed by another process meanwhile.
        source_error: why the source was unavailable; empty if it was available.
        next_due: seconds until another row is due; 0: more rows are due now; None: no row is
            scheduled.
    """

    selected: int
    stored: int
    unchanged: int
    failed: int
    refused: int
    source_error: str
    next_due: float | None

    @classmethod
    def of(
        cls, outcomes: Iterable[tuple[str, str]], source_error: str, next_due_ms: Iterable[int]
    ) -> RefreshReport:
        """Return the report of a step.

        Args:
            outcomes: for each row the verb of its load (see `LoadResult`), and the digit in the
                server's reply (see `CommitReply`).
            source_error: why the source was unavailable; empty if it was available.
            next_due_ms: for each shard, milliseconds until another row is due; -1: no row is
                scheduled.
        """
        scheduled_ms = [due_ms for due_ms in next_due_ms if due_ms >= 0]
        counts = Counter(outcomes)
        digits: Counter[str] = Counter()
        for (_, digit), count in counts.items():
            digits[digit] += count
        return cls(
            selected=sum(counts[key] for key in counts if key[0] != "~"),
            stored=digits["1"],
            unchanged=digits["2"],
            failed=counts["!", "3"],
            refused=digits["0"],
            source_error=source_error,
            next_due=min(scheduled_ms) / 1000 if scheduled_ms else None,
        )


@dataclass(frozen=True, slots=True)
class RowExplanation:
    """Explain the state of one row. `str` of the object returns sentences.

    Attributes:
        id: id of the row.
        state: state of the row, as in `CachedRow`.
        age: seconds since the row was read from the source; None: it is not cached.
        every: period in seconds; None: the row is not scheduled.
        due_in: seconds until the row is due, below 0 if it is overdue; None: it is not scheduled.
        loading: seconds until the lease of the current load ends; None: no process loads the row.
        failures: number of failed loads in a row.
        error: why the latest load failed; empty if it succeeded.
        source_error: why the source was unavailable; empty if it was available.
    """

    id: RowId
    state: State
    age: float | None
    every: float | None
    due_in: float | None
    loading: float | None
    failures: int
    error: str
    source_error: str

    def __str__(self) -> str:
        return " ".join(f"{each[0].upper()}{each[1:]}." for each in self._sentences())

    def _sentences(self) -> Iterable[str]:
        if self.age is None:
            yield f"row {self.id!r} is {self.state}"
        else:
            yield f"row {self.id!r} is {self.state}, read {self.age:,.1f} s ago"
        if self.every is None or self.due_in is None:
            yield "it is not scheduled, so it is loaded when a program reads it"
        elif self.loading is None and self.due_in < -OVERDUE_S:
            late = f"due every {self.every:g} s and overdue by {-self.due_in:,.1f} s"
            yield f"it is {late}: no refresher runs, or the refreshers have too much to do"
        elif self.loading is None:
            yield f"it is due every {self.every:g} s, next in {max(0.0, self.due_in):,.1f} s"
        else:
            yield f"it is due every {self.every:g} s"
        if self.loading is not None:
            yield f"it is being loaded; after {self.loading:,.1f} s another process may load it"
        if self.error:
            loads = "load" if self.failures == 1 else f"{self.failures} loads"
            yield f"its last {loads} failed: {self.error}"
        if self.source_error:
            yield f"the source could not be called: {self.source_error}"


OVERDUE_S: Final = 1.0
"""Seconds by which a row may be late before it counts as overdue."""


@dataclass(frozen=True, slots=True)
class RowCacheStatus:
    """Report the status of a cache.

    Attributes:
        scheduled: number of scheduled rows.
        due: number of scheduled rows that are due.
        loading: number of rows that are being loaded.
        failing: number of rows with a failed latest load.
        lag: seconds by which the most overdue row is late.
        source_error: why the source was unavailable; empty if it was available.
    """

    scheduled: int
    due: int
    loading: int
    failing: int
    lag: float
    source_error: str

    @classmethod
    def of(cls, shards: Iterable[Any]) -> RowCacheStatus:
        """Return the status from the replies of `lua/status.lua`, one for each shard."""
        answers = list(shards)
        scheduled, due, loading, failing = (sum(each[i] for each in answers) for i in range(4))
        lag_ms = max((stored_score(each[4], "how late a row is") for each in answers), default=0)
        errors = [failure_of(each[5])[1] for each in answers if each[5]]
        return cls(scheduled, due, loading, failing, lag_ms / 1000, (errors or [""])[0])


def failure_of(entry: bytes) -> tuple[int, str]:
    """Return the number of failures in a row and the reason from *entry*, a value of the key
    `failures`.

    Raises:
        DecodeError: *entry* is not valid.
    """
    if not entry:
        return 0, ""
    what = "why a row could not be loaded"
    parts = entry.split(b":", 2)
    if len(parts) < 3:
        raise DecodeError(what, f"{entry[:80]!r} does not have three parts")
    return stored_int(parts[1], what), parts[2].decode(errors="replace")


def explanation(row_id: RowId, reply: list[bytes]) -> RowExplanation:
    """Return the explanation in a *reply* of `lua/explain.lua`; empty: there is no such cache."""
    if not reply:
        return RowExplanation(row_id, "uncached", None, None, None, None, 0, "", "")
    now_ms, due, planned, token, row_failure, source_failure, stored = reply
    now = int(now_ms)
    copy = CachedCopy.of(now, stored, planned)
    state: State = "uncached"
    age = None
    if copy is not None and copy.is_usable:
        age = copy.age_ms / 1000
        state = "stale"
        if copy.age_ms <= copy.fresh_ms:
            state = "absent" if copy.body is None else "fresh"
    left_ms = stored_score(token, "the lease of a load") // 1000 - now if token else 0
    failures, error = failure_of(row_failure)
    return RowExplanation(
        row_id,
        state,
        age,
        stored_int(planned.split(b":")[0], "the period of a row") / 1000 if planned else None,
        (stored_score(due, "when a row is due") - now) / 1000 if due else None,
        left_ms / 1000 if left_ms > 0 else None,
        failures,
        error,
        failure_of(source_failure)[1],
    )
