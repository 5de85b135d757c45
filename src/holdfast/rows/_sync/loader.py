# Generated from _async/loader.py by tools/unasync.py: edit that, then run `make sync`.
"""Asks the source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...core.clock import Deadline
from ...core.codec import Codec
from ...core.concurrency._sync.user_calls import call_with_timeout
from ...core.concurrency.interruption import raise_interruption
from ...core.names import Unit
from ...core.telemetry import Telemetry, during
from ..options import MAX_BATCH
from ..row_ids import RowId, id_of
from ..source import (
    NOT_TRIED,
    LoadReport,
    LoadResult,
    RowSource,
    SourceUnavailable,
    failed_result,
    load_result,
    told,
)

MAX_FRUITLESS_LOADS: Final = 24
"""After so many loads that all failed the source is to blame, and not the rows. Nineteen find one
row of five hundred: so if it is the rows after all, some of them are found out each time."""

MAX_LOADS: Final = 128
"""For the rows of one batch; those that are not tried by then have to wait for the next one."""

MAX_ABANDONED: Final = 32
"""So many loads may run on for which nobody waits any more; until one ends no further one begins.
Else there would be a thread for each try as long as a database hangs."""

FAILURE_STREAK: Final = 12
"""After so many loads in a row that failed, rows elsewhere have their turn."""


class Loader:
    """Loads rows from their source, and finds out which of them are to blame if that fails.

    Args:
        unit: the cache.
        source: where the rows come from.
        codec: how they are stored.
        telemetry: is told of loads.
    """

    def __init__(
        self, unit: Unit, source: RowSource, codec: Codec, telemetry: Telemetry | None
    ) -> None:
        self._unit = unit
        self._telemetry = telemetry
        self._source = source
        self._codec = codec
        self._abandoned: set[Any] = set()

    def load(self, members: Sequence[str], seconds: float) -> LoadReport:
        """What becomes of loading rows, within so many *seconds*. It raises nothing."""
        bisection = _Bisection(self, {id_of(member): member for member in members}, seconds)
        ids = list(bisection.by_id)
        whole = [ids[i : i + MAX_BATCH] for i in range(0, len(ids), MAX_BATCH)]
        failing = bisection.failed(whole)
        while failing and not bisection.over:
            # The smallest first, to find one at least; but a crowd must not keep us from others.
            in_streak = bisection.ends_failure_streak()
            part = failing.pop(0 if in_streak else -1)
            half = len(part) // 2
            parts = bisection.failed([part[half:], part[:half]])
            failing = [*parts, *failing] if in_streak else [*failing, *parts]
        return bisection.loaded()

    def results(
        self, part: Sequence[RowId], by_id: Mapping[RowId, str], seconds: float
    ) -> dict[str, LoadResult]:
        """What becomes of loading *part* at once; raises what the source does."""
        if len(self._abandoned) >= MAX_ABANDONED:
            raise SourceUnavailable(
                f"{len(self._abandoned)} loads that took too long have not ended yet"
            )
        with during(self._telemetry, "load", self._unit, amount=len(part)):
            rows = call_with_timeout(seconds, self._source.load, tuple(part), left=self._abandoned)
        if not isinstance(rows, Mapping):
            raise TypeError(f"load must return a mapping of id to row, got {type(rows).__name__}")
        return {
            by_id[row_id]: load_result(
                rows.get(row_id), self._codec, f"row {row_id!r} of row cache {self._unit.name!r}"
            )
            for row_id in part
        }


class _Bisection:
    """What has become of some rows so far, while it is found out which are to blame.

    Attributes:
        by_id: the rows.
    """

    def __init__(self, loader: Loader, by_id: Mapping[RowId, str], seconds: float) -> None:
        self.by_id = by_id
        self._loader = loader
        self._seconds = seconds
        self._deadline = Deadline(seconds)
        self._results: dict[str, LoadResult] = {}
        self._any_loaded = False
        self._loads = 0
        self._failure_streak = 0
        self._source_error = ""
        self._timed_out = False

    @property
    def over(self) -> bool:
        """Whether no more is to be asked of the source."""
        return bool(self._source_error) or self._loads == MAX_LOADS

    def ends_failure_streak(self) -> bool:
        """Whether nothing but rows that fail has been found for a while; asking starts it anew."""
        if self._failure_streak < FAILURE_STREAK:
            return False
        self._failure_streak = 0
        return True

    def failed(self, parts: Iterable[list[RowId]]) -> list[list[RowId]]:
        """Load *parts*, each at once; those that fail, and can be cut."""
        return [part for part in parts if not (self.over or self._settles(part))]

    def _settles(self, part: list[RowId]) -> bool:
        """Load *part*; whether it is known of each row what becomes of it."""
        self._loads += 1
        try:
            left_s = self._deadline.left_s()
            self._results |= self._loader.results(part, self.by_id, left_s)
        except OSError as error:  # a TimeoutError among them
            raise_interruption(error)
            self._timed_out = self._deadline.passed
            late = f"it took longer than {self._seconds:.3g} s"
            self._source_error = late if self._timed_out else told(error)
        except Exception as error:  # noqa: BLE001 (the source is the user's)
            raise_interruption(error)
            self._failure_streak += 1
            if len(part) == 1:
                self._results[self.by_id[part[0]]] = failed_result(error)
            if self._loads == MAX_FRUITLESS_LOADS and not self._any_loaded:
                self._source_error = told(error)
            return len(part) == 1
        else:
            self._any_loaded, self._failure_streak = True, 0
        return True

    def loaded(self) -> LoadReport:
        """What came of it."""
        results = {row: self._results.get(row, NOT_TRIED) for row in self.by_id.values()}
        return LoadReport(results, self._source_error, self._timed_out)
