"""Cache values of the Valkey or Redis server, each for a short time."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from .token_buckets import MAX_NAMES

V = TypeVar("V")


class _CachedRead(NamedTuple, Generic[V]):
    """Holds a read of one value, which may not be finished yet.

    Attributes:
        started_at: monotonic seconds when the read was started.
        task: the task that reads the value.
    """

    started_at: float
    task: asyncio.Task[V]


class TimedCache(Generic[V]):
    """Reads the value of each of many names at most once per *lifetime_s*.

    All calls share a read that started less than *lifetime_s* seconds ago, even if it has not
    finished. So no value is older than *lifetime_s*. The cache drops a failed read.

    Args:
        read: reads the value of a name.
        lifetime_s: seconds after the start of a read for which the cache returns its value.
        clock: returns monotonic seconds.
    """

    def __init__(
        self,
        read: Callable[[str], Awaitable[V]],
        lifetime_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._lifetime_s = lifetime_s
        self._clock = clock
        self._reads: OrderedDict[str, _CachedRead[V]] = OrderedDict()

    async def get(self, name: str) -> V:
        """Return the value of *name*; it was read at most *lifetime_s* before this call."""
        found = self._reads.get(name)
        if found is None or self._clock() - found.started_at >= self._lifetime_s:
            found = self._started(name)
        try:
            return await asyncio.shield(found.task)
        except BaseException:
            if found.task.done() and self._reads.get(name) is found:
                del self._reads[name]
            raise

    def _started(self, name: str) -> _CachedRead[V]:
        """Start a read of *name*, and return it."""
        task = asyncio.ensure_future(self._read(name))
        task.add_done_callback(_retrieve)
        found = self._reads[name] = _CachedRead(self._clock(), task)
        self._reads.move_to_end(name)
        if len(self._reads) > MAX_NAMES:
            self._reads.popitem(last=False)
        return found


def _retrieve(task: asyncio.Task[V]) -> None:
    """Retrieve the exception of a read, because asyncio logs it if all callers were cancelled."""
    if not task.cancelled():
        task.exception()
