"""The queue as its operators see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.checks import checked_int
from ...core.clock import MAX_MS, from_epoch_ms
from ...core.names import Namespace
from ...core.notifier import Notifier
from ...core.script import Script
from ...core.stored import decoding
from .. import keys
from ..task import Pace, QueueStats, checked_capacity, checked_task_id, paces
from ..task_status import LISTED_STATES, State, TaskStatus, listed
from .handle import AsyncTaskHandle
from .producer import AsyncProducer

PACE: Final = Script.load("holdfast.queues", "pace")
STATS: Final = Script.load("holdfast.queues", "stats")
TASKS: Final = Script.load("holdfast.queues", "tasks")
PAUSE: Final = Script.load("holdfast.queues", "pause")
REDEFINE: Final = Script.load("holdfast.queues", "redefine")
REPLAY: Final = Script.load("holdfast.queues", "replay")
PURGE: Final = Script.load("holdfast.queues", "purge")

MOST_MINUTES: Final = 120
"""For which a queue knows its pace."""

LIST_LIMIT: Final = 1000
"""Tasks in one reply, or changed in one step, at most."""


class AsyncQueue:
    """A queue by name; it exists as long as it holds a task.

    Made by `AsyncHoldfast.queue`.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        notifier: Notifier,
        catalog: AsyncCatalog,
        producer: AsyncProducer,
        namespace: Namespace,
        name: str,
    ) -> None:
        self.name = name
        self._caller = caller
        self._notifier = notifier
        self._catalog = catalog
        self._producer = producer
        self._unit = namespace.unit(keys.KIND, name)

    def __repr__(self) -> str:
        return f"AsyncQueue({self.name!r})"

    def handle(self, task_id: str) -> AsyncTaskHandle[Any]:
        """The handle of a task that was put into this queue, by whomever. Asks nobody."""
        task_id = checked_task_id(task_id)
        return AsyncTaskHandle(task_id, self.name, self._unit, self._caller, self._notifier)

    async def stats(self) -> QueueStats:
        """How many tasks are where."""
        unit = self._unit
        reply = await self._caller.call(STATS, unit, STATS.keys(unit), [])
        with decoding(unit):
            *counts, paused, capacity, oldest_ms = reply
            ready, delayed, running, dead, waiting_workers = counts
            oldest = float(oldest_ms)
            return QueueStats(
                ready,
                delayed,
                running,
                dead,
                waiting_workers,
                paused == 1,
                int(capacity) or None,
                from_epoch_ms(int(oldest)) if 0 < oldest < MAX_MS else None,
            )

    async def pace(self, minutes: int = 60) -> list[Pace]:
        """How many tasks ended in each of the last *minutes* (1 to 120), the oldest first.

        The last one is not over yet. For people and dashboards: it is kept for two hours.
        """
        minutes = checked_int(minutes, "minutes", 1, MOST_MINUTES)
        unit = self._unit
        minute, values = await self._caller.call(PACE, unit, PACE.keys(unit), [])
        with decoding(keys.pace(unit)):
            return paces(minute, values, minutes)

    async def tasks(self, state: State = "queued", limit: int = 100) -> list[TaskStatus]:
        """Tasks that are in one state, the next to be run first, the latest dead first.

        Args:
            state: `queued`, `delayed`, `running` or `dead`; what is done or cancelled is no
                longer in the queue, only its handle still finds it.
            limit: how many at most, 1 to 1,000.
        """
        if state not in LISTED_STATES:
            raise ValueError(f"state must be one of {', '.join(LISTED_STATES)}, got {state!r}")
        limit = checked_int(limit, "limit", 1, LIST_LIMIT)
        unit = self._unit
        return listed(await self._caller.call(TASKS, unit, TASKS.keys(unit), [state, limit]))

    async def dead(self, limit: int = 100) -> list[TaskStatus]:
        """The tasks that were given up, with the reason, the latest first; *limit* is 1 to 1,000.

        They stay until they are replayed or purged.
        """
        return await self.tasks("dead", limit)

    async def pause(self, *, op_id: str | None = None) -> None:
        """Let no task be claimed until `resume`, whatever happens to workers and servers.

        What runs goes on, and what is enqueued waits.
        """
        await self._set_paused(1, self.pause, op_id)

    async def resume(self, *, op_id: str | None = None) -> None:
        """Let tasks be claimed again."""
        await self._set_paused(0, self.resume, op_id)

    async def redefine(self, *, capacity: int | None, op_id: str | None = None) -> None:
        """Change how many tasks may wait (ready and delayed), for everyone; None for no limit.

        More tasks than that may wait already: they stay, and new ones are refused.
        """
        unit, value = self._unit, checked_capacity(capacity) or 0
        again = partial(self.redefine, capacity=capacity)
        await self._caller.write(REDEFINE, unit, value, op_id=op_id, repeat=again)
        self._producer.define(self.name, capacity)
        await self._catalog.note(unit)

    async def replay(
        self, task_ids: Sequence[str] | None = None, *, op_id: str | None = None
    ) -> int:
        """Put dead tasks in line again, with all their attempts.

        Args:
            task_ids: which, at most 1,000; None takes the 1,000 that have been dead longest.
            op_id: see `OutcomeUnknown`.

        Returns:
            How many were put in line.
        """
        if isinstance(task_ids, str):
            raise TypeError("task_ids must be a sequence of ids, not a single str")
        named = [checked_task_id(task_id) for task_id in task_ids or ()]
        if len(named) > LIST_LIMIT:
            raise ValueError(f"at most {LIST_LIMIT} task_ids at once, got {len(named)}")
        limit = LIST_LIMIT if task_ids is None else 0
        again = partial(self.replay, task_ids)
        replayed: int = await self._caller.write(
            REPLAY, self._unit, limit, *named, op_id=op_id, repeat=again
        )
        return replayed

    async def purge(self, *, dead: bool = False, op_id: str | None = None) -> int:
        """Drop the tasks that wait, or the dead ones instead. What runs goes on.

        It works in steps, and drops no more tasks than there were when it began, so it ends while
        others enqueue.

        Args:
            dead: drop the dead tasks, and none of those that wait.
            op_id: see `OutcomeUnknown`.

        Returns:
            How many were dropped.
        """
        unit, which = self._unit, "dead" if dead else "waiting"
        names, again = PURGE.keys(unit), partial(self.purge, dead=dead)
        with self._caller.writers.operation(op_id, again, verb="purge") as write:
            # What the steps answered decides when to end, so a repetition makes the same ones.
            dropped, found, step = 0, 0, 0
            while step == 0 or dropped < found:
                most = min(LIST_LIMIT, found - dropped) if step else LIST_LIMIT
                args: list[str | int] = [write.part(step), write.number, which, most]
                now, left = await self._caller.call(PURGE, unit, names, args)
                found = found or now + left
                dropped, step = dropped + now, step + 1
                if left <= 0:
                    break
        return dropped

    async def _set_paused(self, paused: int, again: Callable[..., Any], op_id: str | None) -> None:
        verb = "pause" if paused else "resume"
        await self._caller.write(PAUSE, self._unit, paused, op_id=op_id, repeat=again, verb=verb)
        await self._catalog.note(self._unit)
