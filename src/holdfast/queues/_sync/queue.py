# Generated from _async/queue.py by tools/unasync.py: edit that, then run `make sync`.
"""A queue, for its operators: figures, tasks, pause, replay and purge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from heapq import nlargest
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Final

from ...core._sync.caller import Caller
from ...core._sync.catalog import Catalog
from ...core.checks import checked_int
from ...core.clock import MAX_MS, from_epoch_ms
from ...core.names import Namespace
from ...core.notifier import Notifier
from ...core.script import Script
from ...core.stored import decoding
from .. import keys
from ..call import checked_task_id
from ..delayed_key import DelayedKey, delayed_keys
from ..ended_task import EndedTask, checked_history, ended_tasks
from ..queue_limit import checked_limit, stored_limit
from ..queue_stats import QueueStats, Throughput, checked_capacity, throughput_by_minute
from ..task_status import LISTED_STATES, State, TaskStatus, listed
from .handle import TaskHandle
from .producer import Producer

if TYPE_CHECKING:
    from ...limits.limit import Limit

THROUGHPUT: Final = Script.load("holdfast.queues", "throughput")
STATS: Final = Script.load("holdfast.queues", "stats")
TASKS: Final = Script.load("holdfast.queues", "tasks")
PAUSE: Final = Script.load("holdfast.queues", "pause")
DELAYED_KEYS: Final = Script.load("holdfast.queues", "delayed_keys")
HISTORY: Final = Script.load("holdfast.queues", "history")
REDEFINE: Final = Script.load("holdfast.queues", "redefine")
LIMIT: Final = Script.load("holdfast.queues", "limit")
REPLAY: Final = Script.load("holdfast.queues", "replay")
PURGE: Final = Script.load("holdfast.queues", "purge")
DROP_EVENTS: Final = Script.load("holdfast.queues", "drop_events")

MOST_MINUTES: Final = 120
"""Minutes for which a queue knows its throughput."""

LIST_LIMIT: Final = 1000
"""Tasks in one reply, or changed in one step, at most."""


class Queue:
    """A queue by name; it exists as long as it holds a task.

    Made by `Holdfast.queue`.
    """

    def __init__(
        self,
        caller: Caller,
        notifier: Notifier,
        catalog: Catalog,
        producer: Producer,
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
        return f"Queue({self.name!r})"

    def handle(self, task_id: str) -> TaskHandle[Any]:
        """Return the handle of a task of this queue. It sends nothing to the server."""
        task_id = checked_task_id(task_id)
        return TaskHandle(task_id, self.name, self._unit, self._caller, self._notifier)

    def stats(self) -> QueueStats:
        """Return how many tasks are in which state."""
        unit = self._unit
        reply = self._caller.call(STATS, unit, STATS.keys(unit), [])
        with decoding(unit):
            *counts, paused, capacity, oldest_ms, limited, limit = reply
            concurrency, rate = stored_limit(limit)
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
                limited,
                concurrency,
                rate,
            )

    def throughput(self, minutes: int = 60) -> list[Throughput]:
        """Return how many tasks ended in each of the last *minutes* (1 to 120), the oldest first.

        The last minute is not over yet. The queue keeps these figures for two hours.
        """
        minutes = checked_int(minutes, "minutes", 1, MOST_MINUTES)
        unit = self._unit
        minute, values = self._caller.call(THROUGHPUT, unit, THROUGHPUT.keys(unit), [])
        with decoding(keys.throughput(unit)):
            return throughput_by_minute(minute, values, minutes)

    def tasks(self, state: State = "queued", limit: int = 100) -> list[TaskStatus]:
        """Return tasks that are in one state: the next to run first, or the latest dead first.

        Args:
            state: `queued`, `delayed`, `running` or `dead`. Tasks that are done or cancelled have
                left the queue; only their handles still find them.
            limit: how many at most, 1 to 1,000.
        """
        if state not in LISTED_STATES:
            raise ValueError(f"state must be one of {', '.join(LISTED_STATES)}, got {state!r}")
        limit = checked_int(limit, "limit", 1, LIST_LIMIT)
        unit = self._unit
        return listed(self._caller.call(TASKS, unit, TASKS.keys(unit), [state, limit]))

    def delayed_keys(self, limit: int = 100) -> list[DelayedKey]:
        """Return the limit keys with the most tasks that wait until their key has room.

        Args:
            limit: how many at most, 1 to 1,000.
        """
        limit = checked_int(limit, "limit", 1, LIST_LIMIT)
        unit, slot, found = self._unit, 0, list[DelayedKey]()
        names = DELAYED_KEYS.keys(unit)
        while slot >= 0:
            slot, *reply = self._caller.call(DELAYED_KEYS, unit, names, [slot, LIST_LIMIT])
            found = nlargest(limit, [*found, *delayed_keys(reply)], lambda one: one.waiting)
        return found

    def history(
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
            before: only tasks that ended before the one with this `number`; None: the latest.
        """
        limit = checked_int(limit, "limit", 1, LIST_LIMIT)
        unit, number = self._unit, 0 if before is None else checked_int(before, "before", 1)
        found: list[EndedTask] = []
        names, filters = HISTORY.keys(unit), (outcome or "", name or "", search or "")
        while len(found) < limit:
            args = (number, limit - len(found), *filters)
            reply = self._caller.call(HISTORY, unit, names, args)
            found += ended_tasks(reply[1:])
            number = reply[0]
            if number == 0:
                break
        return found

    def dead(self, limit: int = 100) -> list[TaskStatus]:
        """Return the dead tasks with their reasons, the latest first; *limit* is 1 to 1,000.

        They stay until they are replayed or purged.
        """
        return self.tasks("dead", limit)

    def pause(self, *, op_id: str | None = None) -> None:
        """Stop the claiming of tasks until `resume`. Running tasks continue; enqueued ones wait.

        It stays paused if workers or servers restart.
        """
        self._set_paused(1, self.pause, op_id)

    def resume(self, *, op_id: str | None = None) -> None:
        """Allow the claiming of tasks again."""
        self._set_paused(0, self.resume, op_id)

    def redefine(
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
                a queue is 1,000. None: unchanged.
            op_id: see `OutcomeUnknown`.
        """
        if capacity is ... and history is None:
            raise ValueError("give capacity, history or both")
        unit, kept = self._unit, checked_history(history)
        given = "" if capacity is ... else checked_capacity(capacity) or 0
        args = (given, "" if kept is None else kept)
        again = partial(self.redefine, capacity=capacity, history=history)
        self._caller.write(REDEFINE, unit, *args, op_id=op_id, repeat=again)
        if capacity is not ...:
            self._producer.define(self.name, capacity)
        self._catalog.note(unit)

    def limit(
        self,
        *,
        concurrency: int | EllipsisType | None = ...,
        rate: Limit | EllipsisType | None = ...,
        op_id: str | None = None,
    ) -> None:
        """Limit the whole queue, for all workers.

        Tasks that run already continue. None or 0 removes a limit; if you omit one, it is
        unchanged.

        Args:
            concurrency: how many tasks of the queue may run at once.
            rate: how many tasks of the queue may start in any window of time. Attempts count.
            op_id: see `OutcomeUnknown`.
        """
        if concurrency is ... and rate is ...:
            raise ValueError("give concurrency, rate or both")
        unit, args = self._unit, checked_limit(concurrency, rate)
        again = partial(self.limit, concurrency=concurrency, rate=rate)
        self._caller.write(LIMIT, unit, *args, op_id=op_id, repeat=again)
        self._catalog.note(unit)

    def replay(self, task_ids: Sequence[str] | None = None, *, op_id: str | None = None) -> int:
        """Queue dead tasks again, with all their attempts.

        Args:
            task_ids: their ids, at most 1,000; None takes the 1,000 that have been dead longest.
            op_id: see `OutcomeUnknown`.

        Returns:
            How many were queued.
        """
        if isinstance(task_ids, str):
            raise TypeError("task_ids must be a sequence of ids, not a single str")
        named = [checked_task_id(task_id) for task_id in task_ids or ()]
        if len(named) > LIST_LIMIT:
            raise ValueError(f"at most {LIST_LIMIT} task_ids at once, got {len(named)}")
        limit = LIST_LIMIT if task_ids is None else 0
        again = partial(self.replay, task_ids)
        replayed: int = self._caller.write(
            REPLAY, self._unit, limit, *named, op_id=op_id, repeat=again
        )
        return replayed

    def purge(self, *, dead: bool = False, op_id: str | None = None) -> int:
        """Remove the queued and delayed tasks, or the dead ones instead. Running tasks continue.

        It works in steps, and removes no more tasks than there were when it began. So it also ends
        while producers enqueue more.

        Args:
            dead: remove the dead tasks, and no others.
            op_id: see `OutcomeUnknown`.

        Returns:
            How many were removed.
        """
        unit, which = self._unit, "dead" if dead else "queued"
        names, again = PURGE.keys(unit), partial(self.purge, dead=dead)
        with self._caller.writers.operation(op_id, again, verb="purge") as write:
            # The replies of the steps decide when to end, so a repetition makes the same steps.
            removed, found, step = 0, 0, 0
            while step == 0 or removed < found:
                most = min(LIST_LIMIT, found - removed) if step else LIST_LIMIT
                args: list[str | int] = [write.part(step), write.number, which, most]
                now, left, ids = self._caller.call(PURGE, unit, names, args)
                self._drop_events(ids)
                found = found or now + left
                removed, step = removed + now, step + 1
                if left <= 0:
                    break
        return removed

    def _drop_events(self, ids: Sequence[bytes]) -> None:
        """Delete the events of tasks that were purged."""
        if ids:
            lists = [self._unit.key("events:").encode() + each for each in ids]
            names = DROP_EVENTS.keys(self._unit, *lists)
            self._caller.call(DROP_EVENTS, self._unit, names, ids, harmless=True)

    def _set_paused(self, paused: int, again: Callable[..., Any], op_id: str | None) -> None:
        verb = "pause" if paused else "resume"
        self._caller.write(PAUSE, self._unit, paused, op_id=op_id, repeat=again, verb=verb)
        self._catalog.note(self._unit)
