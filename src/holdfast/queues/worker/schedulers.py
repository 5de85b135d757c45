"""Fires the schedules of all queues that a worker serves, and declares the limits of its tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.concurrency._async.background_task import RunningTask, cancel_and_wait
from ...core.notifier import Notifier
from .._async.producer import AsyncProducer
from .._async.schedule_store import AsyncScheduleStore
from .declared_limits import declare_limits
from .options import WorkerOptions
from .scheduler import Scheduler

Spawn = Callable[[Coroutine[Any, Any, None], str], RunningTask[None]]


class Schedulers:
    """A `Scheduler` for each queue of a worker.

    Args:
        caller: sends the commands.
        notifier: reports that a schedule has changed.
        options: of the worker.
        spawn: runs a coroutine beside the worker, which ends with its exception.
    """

    def __init__(
        self, caller: AsyncCaller, notifier: Notifier, options: WorkerOptions, spawn: Spawn
    ) -> None:
        catalog = AsyncCatalog(caller, options.namespace)
        producer = AsyncProducer(caller, notifier, catalog, options.namespace)
        store = AsyncScheduleStore(caller, catalog, producer, options.namespace)
        self._caller = caller
        self._spawn = spawn
        self._units = {unit.name: unit for unit in options.weights}
        self._limits = options.registry.limits()
        self._schedulers = {
            unit.name: Scheduler(
                caller, store, notifier, unit, options.registry.schedules(unit.name)
            )
            for unit in options.weights
        }

    @asynccontextmanager
    async def firing(
        self, queue: str, is_stopping: Callable[[], bool], *, at_once: bool
    ) -> AsyncIterator[None]:
        """Fire the schedules of *queue* within the context, and declare the limits at its start.

        Args:
            queue: one of the queues of the worker.
            is_stopping: returns whether the worker stops, so that the body begins anyway.
            at_once: whether to fire what is due before the body begins.
        """
        scheduler = self._schedulers[queue]
        if at_once:
            await scheduler.begin(is_stopping)
        limits = declare_limits(self._caller, self._units[queue], self._limits)
        tasks = (
            self._spawn(limits, "holdfast limits"),
            self._spawn(scheduler.run(), "holdfast schedules"),
        )
        try:
            yield
        finally:
            await cancel_and_wait(*tasks)
