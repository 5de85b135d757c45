"""Serves the partitions of the queues of a worker, as many as there are."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from ...core._async.caller import AsyncCaller
from ...core.clock import backoff_s
from ...core.concurrency._async.background_task import RunningTask, cancel_and_wait
from ...core.concurrency._async.primitives import Event, sleep
from ...core.names import Namespace, Unit
from ...core.notifier import Notifier
from ...errors import DecodeError, HoldfastError
from ...errors.one_line_logger import logger_of
from ..partitions._async.layout_store import AsyncLayoutStore
from ..partitions.layout import QueueLayout, partition_name
from .claimer import Claimer
from .fair_share import FairShare
from .idle_pace import IdlePace

logger: Final = logger_of("holdfast.worker")

_RECHECK_S: Final = 30.0
"""Seconds after which a layout is read again, although no notification came."""

_LONGEST_PAUSE_S: Final = 1.0

Add = Callable[[Unit, str], Claimer]
Spawn = Callable[[Coroutine[Any, Any, None], str], RunningTask[None]]


class PartitionClaimers:
    """Adds a claimer for each partition of a queue, also while the worker runs.

    When a partition is removed from the queue, its claimer stays until the worker ends. This costs
    little: a partition is removed only when it has no tasks.

    Args:
        caller: reads the layouts.
        notifier: reports that a layout has changed.
        namespace: namespace of the queues.
        slots: the slots of the worker, which the partitions of a queue share as one queue.
        spawn: runs a coroutine in the background; if it raises, the worker ends with the exception.
        is_stopping: returns whether the worker stops.
        add: makes a claimer for a partition with this unit and name.
        serve: serves a claimer until the worker stops.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        notifier: Notifier,
        namespace: Namespace,
        slots: FairShare,
        spawn: Spawn,
        is_stopping: Callable[[], bool],
        add: Add,
        serve: Callable[[Claimer], Coroutine[Any, Any, None]],
    ) -> None:
        self._layouts = AsyncLayoutStore(caller, namespace)
        self._notifier = notifier
        self._slots = slots
        self._spawn = spawn
        self._is_stopping = is_stopping
        self._add = add
        self._serve = serve
        self._claimers: dict[str, list[Claimer]] = {}  # by queue, the queue itself first
        self._served: list[RunningTask[None]] = []
        self._watches: list[RunningTask[None]] = []

    async def begin(self, home: Claimer) -> None:
        """Serve the partitions of the queue of *home*, the claimer of its first partition.

        Add partitions later, when the layout of the queue gets more. If another program has damaged
        the stored layout, serve only the first partition until the layout is repaired.
        """
        self._claimers[home.name] = [home]
        failures = 0
        while not self._is_stopping():
            try:
                self._update(home.name, await self._layouts.read(home.name), later=False)
            except DecodeError as error:
                text = "%s has only its first partition served: %s; run `holdfast fsck`"
                logger.log(logging.ERROR, text, home.unit, error)
                break
            except HoldfastError:
                failures += 1
                await sleep(backoff_s(failures, 0.05, _LONGEST_PAUSE_S))
            else:
                break
        self._watches.append(self._spawn(self._watch(home), "holdfast partitions"))

    async def wait_ended(self) -> None:
        """Wait until all partitions are served to the end. Raise what one of them fails with."""
        for task in self._served:
            await task

    async def end(self) -> None:
        """End what still runs."""
        await cancel_and_wait(*self._watches, *self._served)

    async def _watch(self, home: Claimer) -> None:
        flag, failures = Event(), 0
        with self._notifier.follow([home.unit], flag):
            while True:
                flag.clear()
                try:
                    self._update(home.name, await self._layouts.read(home.name), later=True)
                except HoldfastError as error:
                    failures += 1
                    pause_s = backoff_s(failures, 0.05, _LONGEST_PAUSE_S)
                    logger.debug("layout of %s: %s; asking again", home.unit, error)
                else:
                    failures, pause_s = 0, _RECHECK_S
                await flag.wait(pause_s)

    def _update(self, queue: str, layout: QueueLayout, *, later: bool) -> None:
        """Add a claimer for each partition of *layout* that has none.

        *later*: whether the worker serves the queue already.
        """
        claimers = self._claimers[queue]
        known = len(claimers)
        if layout.served <= known or self._is_stopping():
            return
        for index in range(known, layout.served):
            name = partition_name(queue, index)
            claimers.append(self._add(self._layouts.unit(queue, index), name))
        self._slots.divide(queue, [claimer.name for claimer in claimers])
        for claimer in claimers:
            claimer.pace = IdlePace(len(claimers))
        for claimer in claimers[known:]:
            claimer.was_added = later
            self._served.append(self._spawn(self._serve(claimer), f"holdfast {claimer.name}"))
