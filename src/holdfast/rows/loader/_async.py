"""Asks the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...core.clock import Deadline
from ...core.codec import Codec
from ...core.runtime._async import in_time
from ..ids import RowId, id_of
from ..source import NOT_TRIED, Loaded, RowSource, Verdict, failure, told, verdict_on

MOST_FRUITLESS: Final = 16
"""After so many loads in a row that failed the source is to blame, not the rows: nine find the one
row of five hundred that fails."""


class AsyncLoader:
    """Loads rows from their source, and finds out which of them are to blame if that fails.

    Args:
        name: of the cache, for messages.
        source: where the rows come from.
        codec: how they are stored.
    """

    def __init__(self, name: str, source: RowSource, codec: Codec) -> None:
        self._name = name
        self._source = source
        self._codec = codec

    async def load(self, members: Sequence[str], seconds: float) -> Loaded:
        """What becomes of loading rows, within so many *seconds*. It raises nothing."""
        by_id = {id_of(member): member for member in members}
        verdicts: dict[str, Verdict] = {}
        left = [list(by_id)] if by_id else []
        trouble, late, fruitless = "", False, 0
        deadline = Deadline(seconds)
        while left and not trouble:
            part = left.pop()
            try:
                rows = await in_time(deadline.left_s(), self._source.load, tuple(part))
                verdicts |= self._verdicts(part, rows, by_id)
                fruitless = 0
            except OSError as error:  # a TimeoutError among them
                late = deadline.passed
                trouble = f"it took longer than {seconds:.3g} s" if late else told(error)
            except Exception as error:  # noqa: BLE001 (the source is the user's)
                fruitless += 1
                if len(part) == 1:
                    verdicts[by_id[part[0]]] = failure(error)
                else:
                    left += [part[len(part) // 2 :], part[: len(part) // 2]]
                if fruitless == MOST_FRUITLESS:
                    trouble = told(error)
        complete = {member: verdicts.get(member, NOT_TRIED) for member in members}
        return Loaded(complete, trouble, late)

    def _verdicts(
        self, part: Sequence[RowId], rows: Any, by_id: Mapping[RowId, str]
    ) -> dict[str, Verdict]:
        if not isinstance(rows, Mapping):
            raise TypeError(f"load must return a mapping of id to row, got {type(rows).__name__}")
        return {
            by_id[row_id]: verdict_on(
                rows.get(row_id), self._codec, f"row {row_id!r} of row cache {self._name!r}"
            )
            for row_id in part
        }
