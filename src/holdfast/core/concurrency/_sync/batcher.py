"""Send each item alone. Hand-written twin of `_async/batcher.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Batcher(Generic[Key, Item, Outcome]):
    """Sends each item alone, in the thread that submits it.

    Args:
        work: sends items of one key, and returns the outcome of each item in order.
        most: not used; limits a batch in asyncio.
        most_size: not used; limits a batch in asyncio.
    """

    def __init__(
        self,
        work: Callable[[Key, Sequence[Item]], Sequence[Outcome]],
        most: int,
        most_size: int,
    ) -> None:
        del most, most_size
        self._work = work

    def submit(self, key: Key, item: Item, size: int) -> Outcome:
        """Send *item* under *key*, and return its outcome."""
        del size
        [outcome] = self._work(key, [item])
        return outcome
