"""A cache of values that the server has, each for a short time."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from .limits import MAX_NAMES

V = TypeVar("V")


class _CachedRead(NamedTuple, Generic[V]):
    """A read of one value, under way or done; its age counts from its start."""

    started_at: float
    task: asyncio.Task[V]


class TimedCache(Generic[V]):
    """Reads a value of each of many names at most once per *lifetime_s*.

    Concurrent calls share a read that started less than *lifetime_s* ago. So no call returns what
    the server had replaced earlier than that. A read that failed is not kept.

    Args:
        read: returns the value of a name.
        lifetime_s: seconds from the start of a read for which its value is returned.
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
        """Return the value of *name*, read at most `lifetime_s` before this call."""
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
        """Start to read *name*."""
        task = asyncio.ensure_future(self._value(name))
        task.add_done_callback(_retrieve)
        found = self._reads[name] = _CachedRead(self._clock(), task)
        self._reads.move_to_end(name)
        if len(self._reads) > MAX_NAMES:
            self._reads.popitem(last=False)
        return found

    async def _value(self, name: str) -> V:
        return await self._read(name)


def _retrieve(task: asyncio.Task[V]) -> None:
    """Retrieve the exception of a read if all its callers were cancelled: asyncio would log it."""
    if not task.cancelled():
        task.exception()
