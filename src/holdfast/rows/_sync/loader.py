# Generated from _async/loader.py by tools/unasync.py: edit that, then run `make sync`.
"""Load rows from the source, and find the rows that cannot be loaded."""

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
    reason_of,
)

MAX_FRUITLESS_LOADS: Final = 24
"""If so many loads of a batch have failed and none has succeeded, the source counts as unavailable.
Nineteen loads are enough to find one failing row among five hundred."""

MAX_LOADS: Final = 128
"""Maximum number of loads for one batch. Rows not tried by then wait for the next batch."""

MAX_ABANDONED: Final = 32
"""If so many timed-out loads are still running, no new load starts. Otherwise a database that hangs
would cost a thread for each attempt."""

FAILURE_STREAK: Final = 12
"""Number of failed loads in a row after which the search continues with other rows."""


class Loader:
    """Load rows from their source. If a load fails, bisect its rows to find those that fail.

    Args:
        unit: the cache.
        source: source of the rows.
        codec: encodes the rows.
        telemetry: counts and measures loads; None: nothing is measured.
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
        """Load rows and return their results. Take at most *seconds*, and raise no error."""
        bisection = _Bisection(self, {id_of(member): member for member in members}, seconds)
        ids = list(bisection.by_id)
        whole = [ids[i : i + MAX_BATCH] for i in range(0, len(ids), MAX_BATCH)]
        failing = bisection.failed(whole)
        while failing and not bisection.over:
            # Divide the smallest part first, to find at least one failing row. After many failures
            # in a row divide the largest part, because it may contain rows that can be loaded.
            in_streak = bisection.ends_failure_streak()
            part = failing.pop(0 if in_streak else -1)
            half = len(part) // 2
            parts = bisection.failed([part[half:], part[:half]])
            failing = [*parts, *failing] if in_streak else [*failing, *parts]
        return bisection.report()

    def results(
        self, part: Sequence[RowId], by_id: Mapping[RowId, str], seconds: float
    ) -> dict[str, LoadResult]:
        """Load *part* in one call of the source.

        Args:
            part: ids of the rows.
            by_id: id → the row's name on the server.
            seconds: timeout of the call.

        Raises:
            Exception: any exception of the source.
        """
        if len(self._abandoned) >= MAX_ABANDONED:
            raise SourceUnavailable(f"{len(self._abandoned)} timed-out loads have not ended yet")
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
    """Collect the results of a batch while its rows are bisected.

    Attributes:
        by_id: id → name on the server, of all rows of the batch.
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
        """Return whether to stop: the source is unavailable, or was called too often."""
        return bool(self._source_error) or self._loads == MAX_LOADS

    def ends_failure_streak(self) -> bool:
        """Return whether the latest `FAILURE_STREAK` loads all failed. If so, restart the count."""
        if self._failure_streak < FAILURE_STREAK:
            return False
        self._failure_streak = 0
        return True

    def failed(self, parts: Iterable[list[RowId]]) -> list[list[RowId]]:
        """Load each of *parts* in one call. Return those that failed and can be divided."""
        return [part for part in parts if not (self.over or self._settles(part))]

    def _settles(self, part: list[RowId]) -> bool:
        """Load *part*. Return False if the load failed, so that *part* has to be divided.

        Return True also if the source is unavailable, because dividing would not help.
        """
        self._loads += 1
        try:
            left_s = self._deadline.left_s()
            self._results |= self._loader.results(part, self.by_id, left_s)
        except OSError as error:  # includes TimeoutError
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
