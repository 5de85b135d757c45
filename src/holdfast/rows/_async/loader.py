"""Calls the source, and finds the rows that it cannot load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...core.clock import Deadline
from ...core.codec import Codec
from ...core.concurrency._async.user_calls import call_with_timeout
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
    reason_of,
)

MAX_FRUITLESS_LOADS: Final = 24
"""If so many loads all failed, the source is the cause, not single rows. Nineteen loads find one
failing row among five hundred, so each batch finds some rows even if single rows are the cause."""

MAX_LOADS: Final = 128
"""Loads for the rows of one batch. Rows that were not tried by then wait for the next batch."""

MAX_ABANDONED: Final = 32
"""Loads that may run on after their timeout. While there are so many, no new load starts. Otherwise
a database that hangs would cost a thread for each try."""

FAILURE_STREAK: Final = 12
"""After so many loads in a row that failed, the search goes on with other rows."""


class AsyncLoader:
    """Load rows from their source. If a load fails, find the rows that cause it.

    Args:
        unit: the cache.
        source: source of the rows.
        codec: encodes the rows.
        telemetry: counts and measures loads.
    """

    def __init__(
        self, unit: Unit, source: RowSource, codec: Codec, telemetry: Telemetry | None
    ) -> None:
        self._unit = unit
        self._telemetry = telemetry
        self._source = source
        self._codec = codec
        self._abandoned: set[Any] = set()

    async def load(self, members: Sequence[str], seconds: float) -> LoadReport:
        """Load rows within so many *seconds*, and return their results. Raise nothing."""
        bisection = _Bisection(self, {id_of(member): member for member in members}, seconds)
        ids = list(bisection.by_id)
        whole = [ids[i : i + MAX_BATCH] for i in range(0, len(ids), MAX_BATCH)]
        failing = await bisection.failed(whole)
        while failing and not bisection.over:
            # The smallest part first, to find one row at least. After many failures in a row, the
            # largest one: it may contain rows that can be loaded.
            in_streak = bisection.ends_failure_streak()
            part = failing.pop(0 if in_streak else -1)
            half = len(part) // 2
            parts = await bisection.failed([part[half:], part[:half]])
            failing = [*parts, *failing] if in_streak else [*failing, *parts]
        return bisection.report()

    async def results(
        self, part: Sequence[RowId], by_id: Mapping[RowId, str], seconds: float
    ) -> dict[str, LoadResult]:
        """Load *part* in one call and return the results; raise what the source raises."""
        if len(self._abandoned) >= MAX_ABANDONED:
            raise SourceUnavailable(
                f"{len(self._abandoned)} loads that took too long have not ended yet"
            )
        with during(self._telemetry, "load", self._unit, amount=len(part)):
            rows = await call_with_timeout(
                seconds, self._source.load, tuple(part), left=self._abandoned
            )
        if not isinstance(rows, Mapping):
            raise TypeError(f"load must return a mapping of id to row, got {type(rows).__name__}")
        return {
            by_id[row_id]: load_result(
                rows.get(row_id), self._codec, f"row {row_id!r} of row cache {self._unit.name!r}"
            )
            for row_id in part
        }


class _Bisection:
    """Collect the results of a batch while it is divided to find the rows that fail.

    Attributes:
        by_id: the rows.
    """

    def __init__(self, loader: AsyncLoader, by_id: Mapping[RowId, str], seconds: float) -> None:
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
        """Return whether the source must not be called any more."""
        return bool(self._source_error) or self._loads == MAX_LOADS

    def ends_failure_streak(self) -> bool:
        """Return whether the last loads all failed. If so, count again from 0."""
        if self._failure_streak < FAILURE_STREAK:
            return False
        self._failure_streak = 0
        return True

    async def failed(self, parts: Iterable[list[RowId]]) -> list[list[RowId]]:
        """Load each of *parts* in one call; return those that failed and have several rows."""
        return [part for part in parts if not (self.over or await self._settles(part))]

    async def _settles(self, part: list[RowId]) -> bool:
        """Load *part*; return whether the result of each of its rows is known."""
        self._loads += 1
        try:
            left_s = self._deadline.left_s()
            self._results |= await self._loader.results(part, self.by_id, left_s)
        except OSError as error:  # a TimeoutError among them
            raise_interruption(error)
            self._timed_out = self._deadline.passed
            late = f"it took longer than {self._seconds:.3g} s"
            self._source_error = late if self._timed_out else reason_of(error)
        except Exception as error:  # noqa: BLE001 (the source is the user's)
            raise_interruption(error)
            self._failure_streak += 1
            if len(part) == 1:
                self._results[self.by_id[part[0]]] = failed_result(error)
            if self._loads == MAX_FRUITLESS_LOADS and not self._any_loaded:
                self._source_error = reason_of(error)
            return len(part) == 1
        else:
            self._any_loaded, self._failure_streak = True, 0
        return True

    def report(self) -> LoadReport:
        """Return the results of the batch."""
        results = {row: self._results.get(row, NOT_TRIED) for row in self.by_id.values()}
        return LoadReport(results, self._source_error, self._timed_out)
