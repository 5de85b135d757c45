"""Keep one resource for each event loop. Hand-written twin of `_sync/local_resource.py`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Generic, TypeVar

from ..fork_hooks import register_after_fork

Item = TypeVar("Item")


class LocalResource(Generic[Item]):
    """One resource for each event loop, created at its first use.

    Args:
        make: returns a new resource.
    """

    def __init__(self, make: Callable[[], Item]) -> None:
        self._make = make
        self._items: dict[asyncio.AbstractEventLoop, Item] = {}
        self._inherited: list[object] = []
        register_after_fork(self)

    def get(self) -> Item:
        """Return the resource of the running loop. Create it if there is none yet."""
        loop = asyncio.get_running_loop()
        item = self._items.get(loop)
        return self._made(loop) if item is None else item

    def pop(self) -> Item | None:
        """Remove and return the resource of the running loop; None if there is none."""
        return self._items.pop(asyncio.get_running_loop(), None)

    def release_all(self, release: Callable[[Item], object]) -> bool:
        """Remove all resources, and call *release* for each in its loop. Take no lock.

        Returns:
            Whether *release* will be called for a resource. It is not called for a closed loop.
        """
        items, self._items = self._items, {}
        called = False
        for loop, item in list(items.items()):  # A thread may add one, which stays.
            with contextlib.suppress(RuntimeError):  # The loop is closed.
                loop.call_soon_threadsafe(release, item)
                called = True
        return called

    def after_fork(self) -> None:
        """Remove the parent's resources in a forked child, but keep references to them.

        Without a reference they would be finalized, which could affect the parent: for example,
        finalizing a connection with TLS sends data over its socket.
        """
        self._inherited.append(self._items)
        self._items = {}

    def _made(self, loop: asyncio.AbstractEventLoop) -> Item:
        for other in [each for each in list(self._items) if each.is_closed()]:
            self._items.pop(other, None)
        return self._items.setdefault(loop, self._make())
