"""Work that is repeated beside the caller, on asyncio. Hand-written twin of `_sync.py`."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from .waiting import Event, spawn


class PeriodicTask:
    """Does some work again and again beside the caller, from `start` to `stop`.

    The loop that ends first takes it along, and so does the garbage collector that takes the
    object of *work*, unless this is told to `keep` that.

    Args:
        work: a method that raises nothing.
        every_s: seconds between two times.
        name: of the task.
    """

    def __init__(
        self, work: Callable[[], Coroutine[Any, Any, None]], every_s: float, name: str
    ) -> None:
        self._work = weakref.WeakMethod(work, self._collected)
        self._every_s = every_s
        self._name = name
        self._kept: object = None
        self._task: asyncio.Task[None] | None = None
        self._hurried: Event | None = None
        self._stopped = False

    def start(self) -> None:
        """Begin, unless it has begun."""
        if self._task is None:
            self._hurried = Event()
            self._task = spawn(self._run(), self._name)

    def keep(self, thing: object) -> None:
        """Keep *thing* from the garbage collector, instead of what was kept before."""
        self._kept = thing

    def hurry(self) -> None:
        """Do the work now."""
        if self._hurried is not None:
            self._hurried.set()

    async def stop(self) -> None:
        """Finish what is being done, and end."""
        self._stopped = True
        self.hurry()
        if self._task is not None:
            await self._task

    def anew(self, work: Callable[[], Coroutine[Any, Any, None]]) -> PeriodicTask:
        """The same with *work*, not begun: for a forked child."""
        return PeriodicTask(work, self._every_s, self._name)

    def _collected(self, work: object) -> None:
        del work
        self._stopped = True
        self.hurry()

    async def _run(self) -> None:
        hurried = self._hurried
        while hurried is not None and not self._stopped:
            await hurried.wait(self._every_s)
            hurried.clear()
            work = self._work()
            if work is not None and not self._stopped:
                await work()
            del work
