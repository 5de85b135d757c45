"""One partition of a queue, for operators: figures, tasks, pause, replay and purge.

A queue without partitions has one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from heapq import nlargest
from typing import Final

from ....core._async.caller import AsyncCaller
from ....core.clock import MAX_MS, from_epoch_ms
from ....core.ledger import Operation
from ....core.names import Unit
from ....core.script import Script
from ....core.stored import decoding
from ... import keys
from ...delayed_key import DelayedKey, delayed_keys
from ...ended_task import EndedTask, ended_tasks
from ...queue_limit import stored_limit
from ...queue_stats import QueueStats, Throughput, throughput_by_minute
from ...task_status import State, TaskStatus, listed

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

LIST_LIMIT: Final = 1000
"""Tasks in one reply, or in one replay, at most."""

STEP_TASKS: Final = 100
"""Tasks that one step removes or replays at most, so that it does not block the server for long."""


class AsyncPartition:
    """One partition of a queue.

    Args:
        caller: sends the commands.
        unit: the partition.
    """

    def __init__(self, caller: AsyncCaller, unit: Unit) -> None:
        self._caller = caller
        self._unit = unit

    async def stats(self) -> tuple[QueueStats, bytes | None]:
        """Return how many tasks are in which state, and the layout as the settings store it."""
        unit = self._unit
        reply = await self._caller.call(STATS, unit, STATS.keys(unit), [])
        with decoding(unit):
            *counts, paused, capacity, oldest_ms, limited, limit, layout = reply
            concurrency, rate = stored_limit(limit)
            ready, delayed, running, dead, waiting_workers = counts
            oldest = float(oldest_ms)
            stats = QueueStats(
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
        return stats, layout or None

    async def throughput(self, minutes: int) -> list[Throughput]:
        """Return how many tasks ended in each of the last *minutes*, the oldest first."""
        unit = self._unit
        minute, values = await self._caller.call(THROUGHPUT, unit, THROUGHPUT.keys(unit), [])
        with decoding(keys.throughput(unit)):
            return throughput_by_minute(minute, values, minutes)

    async def tasks(self, state: State, limit: int) -> list[TaskStatus]:
        """Return tasks that are in one state, at most *limit*."""
        unit = self._unit
        return listed(await self._caller.call(TASKS, unit, TASKS.keys(unit), [state, limit]))

    async def delayed_keys(self, limit: int) -> list[DelayedKey]:
        """Return the limit keys with the most waiting tasks, at most *limit*."""
        unit, slot, found = self._unit, 0, list[DelayedKey]()
        names = DELAYED_KEYS.keys(unit)
        while slot >= 0:
            slot, *reply = await self._caller.call(DELAYED_KEYS, unit, names, [slot, LIST_LIMIT])
            found = nlargest(limit, [*found, *delayed_keys(reply)], lambda one: one.waiting)
        return found

    async def history(
        self, limit: int, filters: tuple[str, str, str], before: int
    ) -> list[EndedTask]:
        """Return tasks that ended, the latest first, at most *limit*.

        Args:
            limit: how many at most.
            filters: outcome, name and search; empty for all.
            before: only tasks that ended before the one with this number; 0: the latest.
        """
        unit, number, found = self._unit, before, list[EndedTask]()
        names = HISTORY.keys(unit)
        while len(found) < limit:
            args = (number, limit - len(found), *filters)
            reply = await self._caller.call(HISTORY, unit, names, args)
            found += ended_tasks(reply[1:])
            number = reply[0]
            if number == 0:
                break
        return found

    async def set_paused(self, write: Operation, paused: int) -> None:
        """Stop the claiming of tasks (1), or allow it (0)."""
        await self._write(PAUSE, write, paused)

    async def redefine(self, write: Operation, capacity: str | int, history: str | int) -> None:
        """Change the settings; an empty text leaves one as it is."""
        await self._write(REDEFINE, write, capacity, history)

    async def limit(self, write: Operation, concurrency: str | int, rate: str) -> None:
        """Change the limit, as `limit.lua` takes it."""
        await self._write(LIMIT, write, concurrency, rate)

    async def replay(
        self, write: Operation, limit: int, named: Sequence[str]
    ) -> AsyncIterator[int]:
        """Queue dead tasks again: *limit* of them, or those that are *named*.

        Yields:
            How many each step queued.
        """
        names, left, step = REPLAY.keys(self._unit), limit or len(named), 0
        # The replies of the steps decide when to end, so a repetition makes the same steps.
        while step == 0 or left > 0:
            writer = write.part(step) if step else write.writer
            some = named[-left:][:STEP_TASKS]
            args: list[str | int] = [writer, write.number, min(STEP_TASKS, limit, left), left]
            now, left = await self._caller.call(REPLAY, self._unit, names, [*args, *some])
            step += 1
            yield now

    async def purge(self, write: Operation, which: str) -> AsyncIterator[int]:
        """Remove the `queued` tasks, or the `dead` ones.

        Yields:
            How many each step removed.
        """
        unit = self._unit
        names = PURGE.keys(unit)
        # The replies of the steps decide when to end, so a repetition makes the same steps.
        removed, found, step = 0, 0, 0
        while step == 0 or removed < found:
            most = min(STEP_TASKS, found - removed) if step else STEP_TASKS
            args: list[str | int] = [write.part(step), write.number, which, most]
            now, left, ids = await self._caller.call(PURGE, unit, names, args)
            await self._drop_events(ids)
            found = found or now + left
            removed, step = removed + now, step + 1
            yield now
            if left <= 0:
                break

    async def _write(self, script: Script, write: Operation, *args: str | int) -> None:
        names, identity = script.keys(self._unit), (write.writer, write.number)
        await self._caller.call(script, self._unit, names, [*identity, *args])

    async def _drop_events(self, ids: Sequence[bytes]) -> None:
        """Delete the events of tasks that were purged."""
        if ids:
            lists = [self._unit.key("events:").encode() + each for each in ids]
            names = DROP_EVENTS.keys(self._unit, *lists)
            await self._caller.call(DROP_EVENTS, self._unit, names, ids, harmless=True)
