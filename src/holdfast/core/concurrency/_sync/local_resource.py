"""Keep one resource for each process. Hand-written twin of `_async/local_resource.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class LocalResource(Generic[Item]):
    """One resource for each process, created at its first use. A forked child gets its own.

    Args:
        make: returns a new resource.
    """

    def __init__(self, make: Callable[[], Item]) -> None:
        self._make = make
        # By process id. A forked child keeps its parent's resource, because finalizing it could
        # affect the parent.
        self._items: dict[int, Item] = {}

    def get(self) -> Item:
        """Return the resource of this process. Create it if there is none yet."""
        pid = os.getpid()
        item = self._items.get(pid)
        return self._items.setdefault(pid, self._make()) if item is None else item

    def pop(self) -> Item | None:
        """Remove and return the resource of this process; None if there is none."""
        return self._items.pop(os.getpid(), None)

    def release_all(self, release: Callable[[Item], object]) -> bool:
        """Remove the resource of this process, if there is one, and call *release* for it.

        Returns:
            Whether there was one.
        """
        item = self.pop()
        if item is not None:
            release(item)
        return item is not None
