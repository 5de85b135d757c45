"""Going alone, on threads. Hand-written twin of `_async.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Way = TypeVar("Way")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Batcher(Generic[Way, Item, Outcome]):
    """Has each item travel alone, in the thread that brings it: nobody waits for company.

    Args:
        work: takes items their way; says what becomes of each.
        most: as on asyncio.
        most_size: likewise.
    """

    def __init__(
        self,
        work: Callable[[Way, Sequence[Item]], Sequence[Outcome]],
        most: int,
        most_size: int,
    ) -> None:
        del most, most_size
        self._work = work

    def go(self, way: Way, item: Item, size: int) -> Outcome:
        """Take *item* its *way*, and wait what becomes of it."""
        del size
        [outcome] = self._work(way, [item])
        return outcome
