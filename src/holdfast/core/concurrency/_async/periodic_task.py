"""Repeat work at intervals in a task. Hand-written twin of `_sync/periodic_task.py`."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

from .background_task import spawn
from .primitives import Event


class PeriodicTask:
    """Repeats work in a task, from `start` to `stop`.

    It also ends when its loop ends, or when the object of the method *work* is garbage-collected.
    Passing this object to `keep_alive` prevents its collection.

    Args:
        work: a method that never raises.
        every_s: seconds between two runs.
        name: name of the task.
    """

    def __init__(
        self, work: Callable[[], Coroutine[Any, Any, None]], every_s: float, name: str
    ) -> None:
        self._work = weakref.WeakMethod(work, self._collected)
        self._every_s = every_s
        self._name = name
        self._kept: object = None
        self._task: asyncio.Task[None] | None = None
        self._wake: Event | None = None
        self._stopped = False

    def start(self) -> None:
        """Start the task, unless it was started before."""
        if self._task is None:
            self._wake = Event()
            self._task = spawn(self._run(), self._name)

    def keep_alive(self, thing: object) -> None:
        """Keep *thing* alive by a reference to it, which replaces the previous reference."""
        self._kept = thing

    def run_now(self) -> None:
        """Run the work now, without waiting for the interval or for its end."""
        if self._wake is not None:
            self._wake.set()

    async def stop(self) -> None:
        """Wait for the current run, and end the task."""
        self._stopped = True
        self.run_now()
        if self._task is not None:
            await self._task

    def copy_with(self, work: Callable[[], Coroutine[Any, Any, None]]) -> PeriodicTask:
        """Return a copy with another *work*, not started, for a forked child."""
        return PeriodicTask(work, self._every_s, self._name)

    def _collected(self, work: object) -> None:
        del work
        self._stopped = True
        self.run_now()

    async def _run(self) -> None:
        wake = self._wake
        while wake is not None and not self._stopped:
            await wake.wait(self._every_s)
            wake.clear()
            work = self._work()
            if work is not None and not self._stopped:
                await work()
            del work
