"""What is told of a cache and of its refreshing: frozen, and no I/O."""

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
    """What one step of refreshing did.

    Attributes:
        selected: rows that were due, and loaded by this step and by no other.
        stored: of these, rows that were written.
        unchanged: rows that were as before, and not written.
        failed: rows that could not be loaded; they are tried again.
        refused: rows that were invalidated, unscheduled or taken over meanwhile; not written.
        trouble: why the source could not be asked at all; empty if it could.
        next_due: seconds until another row is due; 0: there are more now; None: none is scheduled.
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
        """The report of a step.

        Args:
            outcomes: of each row the verb, and the digit that the server answered.
            trouble: why the source could not be asked.
            waits_ms: by shard, until another row is due; -1: none is scheduled.
        """
        scheduled_ms = [next_due_ms for next_due_ms in next_due_ms if next_due_ms >= 0]
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
    """All that is known of one row; `str` of it says so in sentences.

    Attributes:
        id: of the row.
        state: as of a `CachedRow`.
        age: seconds since it was read from the source; None: the cache does not have it.
        every: its period in seconds; None: it is not scheduled.
        due_in: seconds until it is refreshed; below 0 it is overdue; None: it is not scheduled.
        loading: seconds until the lease of whoever loads it now ends; None: nobody does.
        failures: how often in a row it could not be loaded.
        error: why not, the last time; empty if it was.
        source_error: why the source as a whole could not be asked, the last time; empty if it was.
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
        return " ".join(f"{sentence}." for sentence in self._sentences())

    def _sentences(self) -> Iterable[str]:
        if self.age is None:
            yield f"row {self.id!r} is {self.state}"
        else:
            yield f"row {self.id!r} is {self.state}, read {self.age:,.1f} s ago"
        if self.every is None or self.due_in is None:
            yield "it is not scheduled: it is loaded when somebody reads it"
        elif self.loading is None and self.due_in < -OVERDUE_S:
            late = f"due every {self.every:g} s and overdue by {-self.due_in:,.1f} s"
            yield f"it is {late}: no refresher runs, or those that do have too much to do"
        elif self.loading is None:
            yield f"it is due every {self.every:g} s, next in {max(0.0, self.due_in):,.1f} s"
        else:
            yield f"it is due every {self.every:g} s"
        if self.loading is not None:
            yield f"it is being loaded; if that is not done in {self.loading:,.1f} s, another does"
        if self.error:
            yield f"it could not be loaded, {self.failures} times in a row: {self.error}"
        if self.source_error:
            yield f"the source could not be asked: {self.source_error}"


OVERDUE_S: Final = 1.0
"""A row may be late by this without anybody being to blame."""


@dataclass(frozen=True, slots=True)
class RowCacheStatus:
    """How a cache fares.

    Attributes:
        scheduled: rows that are refreshed.
        due: of these, rows whose time has come.
        loading: rows that are loaded now.
        failing: rows that could not be loaded the last time.
        lag: seconds by which the one is late that is latest.
        trouble: why the source could not be asked, the last time; empty if it was.
    """

    scheduled: int
    due: int
    loading: int
    failing: int
    lag: float
    source_error: str

    @classmethod
    def of(cls, shards: Iterable[Any]) -> RowCacheStatus:
        """The sum of what the shards answered to `lua/status.lua`."""
        answers = list(shards)
        scheduled, due, loading, failing = (sum(each[i] for each in answers) for i in range(4))
        lag_ms = max((stored_score(each[4], "how late a row is") for each in answers), default=0)
        troubles = [failure_of(each[5])[1] for each in answers if each[5]]
        return cls(scheduled, due, loading, failing, lag_ms / 1000, (troubles or [""])[0])


def failure_of(entry: bytes) -> tuple[int, str]:
    """Return how often in a row, and why, from `at_ms:failures:why`.

    Raises:
        DecodeError: It is not such an entry.
    """
    if not entry:
        return 0, ""
    what = "why a row could not be loaded"
    parts = entry.split(b":", 2)
    if len(parts) < 3:
        raise DecodeError(what, f"{entry[:80]!r} does not have three parts")
    return stored_int(parts[1], what), parts[2].decode(errors="replace")


def explanation(row_id: RowId, reply: list[bytes]) -> RowExplanation:
    """From the answer of `lua/explain.lua`; empty: there is no such cache."""
    if not reply:
        return RowExplanation(row_id, "uncached", None, None, None, None, 0, "", "")
    now_ms, due, planned, token, source_error, all_trouble, stored = reply
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
    failures, error = failure_of(source_error)
    return RowExplanation(
        row_id,
        state,
        age,
        stored_int(planned.split(b":")[0], "the period of a row") / 1000 if planned else None,
        (stored_score(due, "when a row is due") - now) / 1000 if due else None,
        left_ms / 1000 if left_ms > 0 else None,
        failures,
        error,
        failure_of(all_trouble)[1],
    )
