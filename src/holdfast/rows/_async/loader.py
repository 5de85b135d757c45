"""Asks the source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...core.clock import Deadline
from ...core.codec import Codec
from ...core.concurrency._async.waiting import in_time
from ...core.concurrency.interruption import raise_interruption
from ...core.names import Unit
from ...core.telemetry import Telemetry, during
from ..options import MAX_BATCH
from ..row_ids import RowId, id_of
from ..source import NOT_TRIED, Loaded, RowSource, Unreadable, Verdict, failure, told, verdict_on

MOST_FRUITLESS: Final = 24
"""After so many loads that all failed the source is to blame, and not the rows. Nineteen find one
row of five hundred: so if it is the rows after all, some of them are found out each time."""

MOST_LOADS: Final = 128
"""For the rows of one batch; those that are not tried by then have to wait for the next one."""

MOST_LEFT: Final = 32
"""So many loads may run on for which nobody waits any more; until one ends no further one begins.
Else there would be a thread for each try as long as a database hangs."""

CROWD: Final = 12
"""After so many loads in a row that failed, rows elsewhere have their turn."""


class AsyncLoader:
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
        self._left: set[Any] = set()

    async def load(self, members: Sequence[str], seconds: float) -> Loaded:
        """What becomes of loading rows, within so many *seconds*. It raises nothing."""
        hunt = _Hunt(self, {id_of(member): member for member in members}, seconds)
        ids = list(hunt.by_id)
        whole = [ids[i : i + MAX_BATCH] for i in range(0, len(ids), MAX_BATCH)]
        failing = await hunt.failed(whole)
        while failing and not hunt.over:
            # The smallest first, to find one at least; but a crowd must not keep us from others.
            crowded = hunt.in_a_crowd()
            part = failing.pop(0 if crowded else -1)
            half = len(part) // 2
            parts = await hunt.failed([part[half:], part[:half]])
            failing = [*parts, *failing] if crowded else [*failing, *parts]
        return hunt.loaded()

    async def verdicts(
        self, part: Sequence[RowId], by_id: Mapping[RowId, str], seconds: float
    ) -> dict[str, Verdict]:
        """What becomes of loading *part* at once; raises what the source does."""
        if len(self._left) >= MOST_LEFT:
            raise Unreadable(f"{len(self._left)} loads that took too long have not ended yet")
        with during(self._telemetry, "load", self._unit, amount=len(part)):
            rows = await in_time(seconds, self._source.load, tuple(part), left=self._left)
        if not isinstance(rows, Mapping):
            raise TypeError(f"load must return a mapping of id to row, got {type(rows).__name__}")
        return {
            by_id[row_id]: verdict_on(
                rows.get(row_id), self._codec, f"row {row_id!r} of row cache {self._unit.name!r}"
            )
            for row_id in part
        }


class _Hunt:
    """What has become of some rows so far, while it is found out which are to blame.

    Attributes:
        by_id: the rows.
    """

    def __init__(self, loader: AsyncLoader, by_id: Mapping[RowId, str], seconds: float) -> None:
        self.by_id = by_id
        self._loader = loader
        self._seconds = seconds
        self._deadline = Deadline(seconds)
        self._verdicts: dict[str, Verdict] = {}
        self._any_loaded = False
        self._loads = 0
        self._in_a_row = 0
        self._trouble = ""
        self._late = False

    @property
    def over(self) -> bool:
        """Whether no more is to be asked of the source."""
        return bool(self._trouble) or self._loads == MOST_LOADS

    def in_a_crowd(self) -> bool:
        """Whether nothing but rows that fail has been found for a while; asking starts it anew."""
        if self._in_a_row < CROWD:
            return False
        self._in_a_row = 0
        return True

    async def failed(self, parts: Iterable[list[RowId]]) -> list[list[RowId]]:
        """Load *parts*, each at once; those that fail, and can be cut."""
        return [part for part in parts if not (self.over or await self._settles(part))]

    async def _settles(self, part: list[RowId]) -> bool:
        """Load *part*; whether it is known of each row what becomes of it."""
        self._loads += 1
        try:
            left_s = self._deadline.left_s()
            self._verdicts |= await self._loader.verdicts(part, self.by_id, left_s)
        except OSError as error:  # a TimeoutError among them
            raise_interruption(error)
            self._late = self._deadline.passed
            late = f"it took longer than {self._seconds:.3g} s"
            self._trouble = late if self._late else told(error)
        except Exception as error:  # noqa: BLE001 (the source is the user's)
            raise_interruption(error)
            self._in_a_row += 1
            if len(part) == 1:
                self._verdicts[self.by_id[part[0]]] = failure(error)
            if self._loads == MOST_FRUITLESS and not self._any_loaded:
                self._trouble = told(error)
            return len(part) == 1
        else:
            self._any_loaded, self._in_a_row = True, 0
        return True

    def loaded(self) -> Loaded:
        """What came of it."""
        verdicts = {row: self._verdicts.get(row, NOT_TRIED) for row in self.by_id.values()}
        return Loaded(verdicts, self._trouble, self._late)
