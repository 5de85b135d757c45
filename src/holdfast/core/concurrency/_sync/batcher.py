"""The blocking twin of `_async/batcher.py`: each thread sends its own item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key")
Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Batcher(Generic[Key, Item, Outcome]):
    """Sends each item alone, in the thread that submits it.

    Args:
        work: sends the items of one key, and returns their outcomes.
        most: as on asyncio; not used here.
        most_size: as on asyncio; not used here.
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
