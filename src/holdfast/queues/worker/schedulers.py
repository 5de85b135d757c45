"""What a worker does for a queue beside its tasks: schedules, limits, and ends of group members."""

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
from ..groups._async.group_delivery import AsyncGroupDelivery
from ..groups._async.group_store import AsyncGroupStore
from .claimer import Claimer
from .declared_limits import declare_limits
from .group_relay import GroupRelay
from .idle_check import IdleCheck
from .options import WorkerOptions
from .scheduler import Scheduler

Spawn = Callable[[Coroutine[Any, Any, None], str], RunningTask[None]]


class Schedulers:
    """A `Scheduler` and a `GroupRelay` for each queue of a worker.

    Args:
        caller: sends the commands.
        notifier: reports that a schedule has changed.
        options: options of the worker.
        spawn: runs a coroutine in the background; if it raises, the worker ends with the exception.
    """

    def __init__(
        self, caller: AsyncCaller, notifier: Notifier, options: WorkerOptions, spawn: Spawn
    ) -> None:
        catalog = AsyncCatalog(caller, options.namespace)
        producer = AsyncProducer(caller, notifier, catalog, options.namespace)
        store = AsyncScheduleStore(caller, catalog, producer, options.namespace)
        groups = AsyncGroupStore(caller, producer, options.namespace)
        self._groups = AsyncGroupDelivery(groups, caller, catalog, options.namespace)
        self._caller = caller
        self._spawn = spawn
        self._limits = options.registry.limits()
        self._schedulers = {
            unit.name: Scheduler(
                caller, store, notifier, unit, options.registry.schedules(unit.name)
            )
            for unit in options.weights
        }

    @asynccontextmanager
    async def firing(
        self,
        claimer: Claimer,
        is_stopping: Callable[[], bool],
        idle_check: IdleCheck,
        *,
        at_once: bool,
    ) -> AsyncIterator[None]:
        """Fire the schedules of a queue, and relay the ends of group members, within the context.

        Args:
            claimer: claims the tasks of the queue.
            idle_check: is notified when the relay has no more ends.
            is_stopping: returns whether the worker stops, so that the body begins anyway.
            at_once: whether to fire what is due before the body begins.
        """
        scheduler = self._schedulers.get(claimer.name)  # only the first partition has one
        ends = claimer.has_member_ends
        relay = GroupRelay(
            self._caller, self._groups, claimer.unit, ends, on_relayed=idle_check.relayed
        )
        idle_check.watch(claimer.name, relay)
        if at_once and scheduler is not None:
            await scheduler.begin(is_stopping)
        limits = declare_limits(self._caller, claimer.unit, self._limits)
        tasks = [
            self._spawn(limits, "holdfast limits"),
            self._spawn(relay.run(), "holdfast groups"),
        ]
        if scheduler is not None:
            tasks.append(self._spawn(scheduler.run(), "holdfast schedules"))
        try:
            yield
        finally:
            await cancel_and_wait(*tasks)
