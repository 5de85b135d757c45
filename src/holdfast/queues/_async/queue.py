"""A queue, for its operators: figures, tasks, pause, replay, purge and partitions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Final

from ...core import ledger
from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.checks import checked_int
from ...core.names import Unit
from ...core.notifier import Notifier
from ...errors import ServerUnavailable
from ..call import checked_task_id, several_task_ids
from ..delayed_key import DelayedKey
from ..ended_task import EndedTask, checked_history
from ..partitions._async.locating import locate
from ..partitions._async.partition import LIMIT, LIST_LIMIT, REDEFINE, AsyncPartition
from ..partitions._async.schedule_check import check_schedules
from ..partitions.layout import checked_partitions, partition_name
from ..partitions.sums import history_of_all, stats_of_all, tasks_of_all, throughput_of_all
from ..queue_limit import checked_limit
from ..queue_stats import QueueStats, Throughput, checked_capacity
from ..task_status import LISTED_STATES, State, TaskStatus
from .handle import AsyncTaskHandle
from .producer import AsyncProducer

if TYPE_CHECKING:
    from ...limits.limit import Limit

MOST_MINUTES: Final = 120
"""Minutes for which a queue knows its throughput."""


class AsyncQueue:
    """A queue by name; it exists as long as it holds a task.

    Made by `AsyncHoldfast.queue`. All methods concern the whole queue, also if it has partitions.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        notifier: Notifier,
        catalog: AsyncCatalog,
        producer: AsyncProducer,
        name: str,
    ) -> None:
        self.name = name
        self._caller = caller
        self._notifier = notifier
        self._catalog = catalog
        self._producer = producer
        self._layouts = producer.layouts
        self._unit = producer.layouts.unit(name)

    def __repr__(self) -> str:
        return f"AsyncQueue({self.name!r})"

    def handle(self, task_id: str) -> AsyncTaskHandle[Any]:
        """Return the handle of a task of this queue. This sends nothing to the server."""
        task_id = checked_task_id(task_id)
        parts = (self._unit, self._caller, self._notifier)
        find = partial(locate, self._caller, self._layouts, self.name, task_id)
        return AsyncTaskHandle(task_id, self.name, *parts, _find_unit=find)

    async def stats(self) -> QueueStats:
        """Return how many tasks are in which state."""
        found = await self.partitions()
        layout = self._layouts.known(self.name)
        return stats_of_all(list(found.values()), layout)

    async def partitions(self) -> dict[str, QueueStats]:
        """Return name → statistics of each partition; of the queue itself if it has no partitions.

        The name of a partition can be used like that of a queue in `handle`, `tasks` and `history`,
        and as a queue of a worker, but not to enqueue.
        """
        first, text = await AsyncPartition(self._caller, self._unit).stats()
        layout, found = self._layouts.learn(self.name, text), {self.name: first}
        for index in range(1, layout.served):
            unit = self._layouts.unit(self.name, index)
            found[partition_name(self.name, index)], _ = await self._partition(unit).stats()
        return found

    async def repartition(self, partitions: int, *, op_id: str | None = None) -> None:
        """Change into how many partitions the queue is divided, 1 to 256, while it is used.

        The partitions of a queue are spread over the primaries of a cluster. Tasks that wait stay
        where they are. If there are fewer partitions than before, workers also serve the removed
        ones, until you call this again after they have become empty.

        The change takes several steps. If this fails, call it again.

        Args:
            partitions: the new number of partitions.
            op_id: see `OutcomeUnknown`.

        Raises:
            ValueError: the capacity or a limit of the queue cannot be divided among so many, or a
                schedule of the queue enqueues tasks that are unique or have a limit key.
            DefinitionConflict: the name of a partition is that of another queue with tasks, or the
                number was changed eight times in a day.
        """
        partitions = checked_partitions(partitions)
        if partitions > 1:
            await check_schedules(self._caller, self._unit)
        again = partial(self.repartition, partitions)
        change = self._producer.repartitioning
        self._producer.partition_definitions.forget(self.name)
        await change.change(self.name, partitions, op_id=op_id, repeat=again)
        await self._catalog.note(self._unit)

    async def throughput(self, minutes: int = 60) -> list[Throughput]:
        """Return how many tasks ended in each of the last *minutes* (1 to 120), the oldest first.

        The last minute is not over yet. The queue keeps these figures for two hours.
        """
        minutes = checked_int(minutes, "minutes", 1, MOST_MINUTES)
        return throughput_of_all([await each.throughput(minutes) for each in await self._all()])

    async def tasks(self, state: State = "queued", limit: int = 100) -> list[TaskStatus]:
        """Return tasks that are in one state: the next to run first, or the latest dead first.

        Args:
            state: `queued`, `delayed`, `running` or `dead`. Tasks that are done or cancelled have
                left the queue; only their handles still find them.
            limit: how many at most, 1 to 1,000.
        """
        if state not in LISTED_STATES:
            raise ValueError(f"state must be one of {', '.join(LISTED_STATES)}, got {state!r}")
        limit = checked_int(limit, "limit", 1, LIST_LIMIT)
        found = [await each.tasks(state, limit) for each in await self._all()]
        return tasks_of_all(found, state)[:limit]

    async def delayed_keys(self, limit: int = 100) -> list[DelayedKey]:
        """Return the limit keys with the most tasks that wait until their key has room.

        Args:
            limit: how many at most, 1 to 1,000.
        """
        limit = checked_int(limit, "limit", 1, LIST_LIMIT)
        found = list[DelayedKey]()
        for each in await self._all():
            found += await each.delayed_keys(limit)
        return sorted(found, key=lambda key: -key.waiting)[:limit]

    async def history(
        self,
        limit: int = 100,
        *,
        outcome: str | None = None,
        name: str | None = None,
        search: str | None = None,
        before: int | None = None,
    ) -> list[EndedTask]:
        """Return tasks that ended, the latest first.

        The queue keeps its last 1,000 (see `redefine`), until a week after the last of them. Tasks
        that `purge` removed are not in it.

        Args:
            limit: how many at most, 1 to 1,000.
            outcome: only tasks that ended so: `done`, `cancelled`, `dead`, or the first word of the
                reason why they are dead, such as `failed` or `expired`; None: all.
            name: only tasks with this name; None: all.
            search: only tasks with this text in their id or reason, in any case; None: all.
            before: only tasks that ended before the one with this `number`; None: the latest. Each
                partition has numbers of its own, so give it only to the queue of one partition.

        Raises:
            ValueError: *before* is given, and the queue has partitions.
        """
        limit = checked_int(limit, "limit", 1, LIST_LIMIT)
        number = 0 if before is None else checked_int(before, "before", 1)
        filters = (outcome or "", name or "", search or "")
        found = await self._all()
        if number and len(found) > 1:
            raise ValueError(
                f"queue {self.name!r} has partitions, each with numbers of its own: give before= "
                f"to one of them, such as queue({partition_name(self.name, 1)!r})"
            )
        return history_of_all([await each.history(limit, filters, number) for each in found], limit)

    async def dead(self, limit: int = 100) -> list[TaskStatus]:
        """Return the dead tasks with their reasons, the latest first; *limit* is 1 to 1,000.

        They stay until they are replayed or purged.
        """
        return await self.tasks("dead", limit)

    async def pause(self, *, op_id: str | None = None) -> None:
        """Stop the claiming of tasks until `resume`. Running tasks continue; enqueued ones wait.

        The queue stays paused if workers or servers restart.
        """
        with self._caller.operation(op_id, self.pause, verb="pause") as write:
            async for unit in self._producer.repartitioning.partitions(self.name):
                await self._partition(unit).set_paused(write, 1)
        await self._catalog.note(self._unit)

    async def resume(self, *, op_id: str | None = None) -> None:
        """Allow the claiming of tasks again."""
        with self._caller.operation(op_id, self.resume, verb="resume") as write:
            async for unit in self._producer.repartitioning.partitions(self.name):
                await self._partition(unit).set_paused(write, 0)
        await self._catalog.note(self._unit)

    async def redefine(
        self,
        *,
        capacity: int | EllipsisType | None = ...,
        history: int | None = None,
        op_id: str | None = None,
    ) -> None:
        """Change the settings of the queue, for all clients and workers.

        Args:
            capacity: how many tasks may wait (ready and delayed); None for no limit. If more tasks
                wait already, they stay, and new ones are refused. If you omit it, it is unchanged.
            history: how many ended tasks `history` returns, up to 100,000; 0: none. The default of
                a queue is 1,000, and so is that of each partition. None: unchanged.
            op_id: see `OutcomeUnknown`.

        Raises:
            ValueError: a partition would have no share of the capacity.
        """
        if capacity is ... and history is None:
            raise ValueError("give capacity, history or both")
        kept = checked_history(history)
        given = "" if capacity is ... else checked_capacity(capacity) or 0
        again = partial(self.redefine, capacity=capacity, history=history)
        change, layout = self._producer.repartitioning, await self._layouts.read(self.name)
        if layout.version and given != "":
            await change.define(self.name, capacity=int(given))
            given = ""
        if given != "" or kept is not None:
            with self._caller.operation(op_id, again, verb=REDEFINE.verb) as write:
                async for unit in change.partitions(self.name):
                    args = (given, "" if kept is None else kept)
                    await self._partition(unit).redefine(write, *args)
        if capacity is not ...:
            self._producer.redefined(self.name, capacity)
        await self._catalog.note(self._unit)

    async def limit(
        self,
        *,
        concurrency: int | EllipsisType | None = ...,
        rate: Limit | EllipsisType | None = ...,
        op_id: str | None = None,
    ) -> None:
        """Limit the whole queue, for all workers.

        Tasks that run already continue. None or 0 removes a limit; if you omit one, it is
        unchanged. Each partition gets an equal share, which the others cannot use.

        Args:
            concurrency: how many tasks of the queue may run at once.
            rate: how many tasks of the queue may start in any window of time. Attempts count.
            op_id: see `OutcomeUnknown`.

        Raises:
            ValueError: a partition would have no share.
        """
        if concurrency is ... and rate is ...:
            raise ValueError("give concurrency, rate or both")
        given = checked_limit(concurrency, rate)
        again = partial(self.limit, concurrency=concurrency, rate=rate)
        change, layout = self._producer.repartitioning, await self._layouts.read(self.name)
        if layout.version:
            before = (await self._layouts.settings(self.name)).limit
            running = before[0] if given[0] == "" else given[0]
            starts = given[1] or f"{before[1]} {before[2]}"
            await change.define(self.name, limit=f"{running} {starts}")
        else:
            with self._caller.operation(op_id, again, verb=LIMIT.verb) as write:
                await self._partition(self._unit).limit(write, *given)
        await self._catalog.note(self._unit)

    async def replay(
        self, task_ids: Sequence[str] | None = None, *, op_id: str | None = None
    ) -> int:
        """Queue dead tasks again, as if they had not been attempted before.

        It works in steps, and takes no more tasks than were dead when it began.

        Args:
            task_ids: their ids, at most 1,000; None takes the 1,000 that have been dead longest, of
                each partition.
            op_id: see `OutcomeUnknown`.

        Returns:
            How many were queued.
        """
        named = [] if task_ids is None else several_task_ids(task_ids)
        for task_id in named:
            checked_task_id(task_id)
        if len(named) > LIST_LIMIT:
            raise ValueError(f"at most {LIST_LIMIT} task_ids at once, got {len(named)}")
        limit, again = LIST_LIMIT if task_ids is None else 0, partial(self.replay, task_ids)
        with self._caller.operation(op_id, again, verb="replay") as write:
            return await self._in_steps(lambda each: each.replay(write, limit, named), "replayed")

    async def purge(self, *, dead: bool = False, op_id: str | None = None) -> int:
        """Remove the queued and delayed tasks, or the dead ones instead. Running tasks continue.

        It works in steps, and removes no more tasks than there were when it began. So it also ends
        while producers enqueue more.

        Args:
            dead: remove the dead tasks, and no others.
            op_id: see `OutcomeUnknown`.

        Returns:
            How many were removed.
        """
        which, again = "dead" if dead else "queued", partial(self.purge, dead=dead)
        with self._caller.operation(op_id, again, verb="purge") as write:
            return await self._in_steps(lambda each: each.purge(write, which), "removed")

    async def _in_steps(
        self, steps: Callable[[AsyncPartition], AsyncIterator[int]], done: str
    ) -> int:
        """Make the steps of one operation in all partitions. Return how many tasks it changed.

        Raises:
            OutcomeUnknown: some steps were made; a repetition of the operation makes the others.
        """
        count, any_made = 0, False
        try:
            for partition in await self._all(fresh=True):
                async for changed in steps(partition):
                    count, any_made = count + changed, True
        except ServerUnavailable as error:
            if not any_made:
                raise
            raise ledger.partly(error, f"{count} tasks are {done}") from error
        return count

    async def _all(self, *, fresh: bool = False) -> list[AsyncPartition]:
        """Return the partitions that may have tasks."""
        units = await self._layouts.units(self.name, fresh=fresh)
        return [self._partition(unit) for unit in units]

    def _partition(self, unit: Unit) -> AsyncPartition:
        return AsyncPartition(self._caller, unit)
