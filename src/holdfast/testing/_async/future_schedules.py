"""Enqueue the tasks of schedules before their instants, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from ... import AsyncHoldfast, TaskRegistry
from ...queues import keys
from ...queues.schedule.definition import ScheduleDefinition
from ...queues.schedule.status import StoredSchedule


class AsyncFutureSchedules:
    """Enqueues the occurrences of the schedules of some queues, one after the other.

    Args:
        hf: the client of the test.
        queues: names of the queues.
    """

    def __init__(self, hf: AsyncHoldfast, queues: Sequence[str]) -> None:
        self._queues = queues
        resources = hf._resources  # noqa: SLF001 (there is no public way to move a schedule)
        self._namespace = resources.namespace
        self._store = resources.schedule_store

    async def declare(self, tasks: TaskRegistry) -> None:
        """Store the schedules that *tasks* declares, as a worker does at its start."""
        for queue in self._queues:
            for definition in tasks.schedules(queue):
                await self._store.define(definition)

    async def enqueue_next(self, within_s: float) -> bool:
        """Enqueue the first occurrence within *within_s* seconds. Return whether there is one."""
        found: list[tuple[StoredSchedule, int]] = []
        for queue in self._queues:
            unit = self._namespace.unit(keys.KIND, queue)
            now_ms = (await self._store.page(unit, limit=1)).now_ms
            until_ms = now_ms + round(within_s * 1000)
            page = await self._store.page(unit, limit=1, until=str(until_ms))
            found += [(stored, now_ms) for stored in page.schedules]
        if not found:
            return False
        stored, now_ms = min(found, key=lambda each: each[0].next_ms)
        await self._enqueue(stored, now_ms)
        return True

    async def _enqueue(self, stored: StoredSchedule, now_ms: int) -> None:
        """Enqueue the next occurrence of a schedule, and store the instant after it."""
        name, instant_ms = stored.name, int(stored.next_ms)
        definition = ScheduleDefinition.unpacked(name, stored.definition)
        await self._store.producer.enqueue_packed(
            *(definition.queue, definition.envelope.task),
            lambda _label: definition.task(instant_ms, now_ms),
            *(self._enqueue, None),
        )
        next_ms = definition.timing.next_after(instant_ms, stored.record.anchor_ms)
        if next_ms is None:
            await self._store.change(name, "remove", self._enqueue, None)
        else:
            await self._store.change(name, "pause", self._enqueue, None)
            await self._store.change(name, "resume", self._enqueue, None, next_ms)
