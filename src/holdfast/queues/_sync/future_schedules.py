# Generated from _async/future_schedules.py by tools/unasync.py: edit that, then run `make sync`.
"""Enqueue the tasks of schedules before their instants, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.names import Namespace
from .. import keys
from ..registry import TaskRegistry
from ..schedule.definition import ScheduleDefinition
from ..schedule.status import StoredSchedule
from .schedule_store import ScheduleStore


class FutureSchedules:
    """Enqueues the occurrences of the schedules of some queues, one after the other.

    It sends several commands for each occurrence, and a worker could fire the occurrence between
    them. So use it only in a namespace without workers.

    Args:
        store: reads and writes schedules.
        namespace: namespace of the queues.
        queues: names of the queues.
    """

    def __init__(self, store: ScheduleStore, namespace: Namespace, queues: Sequence[str]) -> None:
        self._store = store
        self._namespace = namespace
        self._queues = queues

    def declare(self, tasks: TaskRegistry) -> None:
        """Store the schedules that *tasks* declares, as a worker does at its start."""
        for queue in self._queues:
            for definition in tasks.schedules(queue):
                self._store.define(definition)

    def enqueue_next(self, within_s: float) -> float | None:
        """Enqueue the first occurrence within *within_s* seconds.

        Returns:
            Seconds until the occurrence; None if there is none.
        """
        found: list[tuple[StoredSchedule, int]] = []
        for queue in self._queues:
            unit = self._namespace.unit(keys.KIND, queue)
            now_ms = (self._store.page(unit, limit=1)).now_ms
            until_ms = now_ms + round(within_s * 1000)
            page = self._store.page(unit, limit=1, until=str(until_ms))
            found += [(stored, now_ms) for stored in page.schedules]
        if not found:
            return None
        stored, now_ms = min(found, key=lambda each: each[0].next_ms)
        self._enqueue(stored, now_ms)
        return (stored.next_ms - now_ms) / 1000

    def _enqueue(self, stored: StoredSchedule, now_ms: int) -> None:
        """Enqueue the next occurrence of a schedule, and store the instant after it."""
        name, instant_ms = stored.name, int(stored.next_ms)
        definition = ScheduleDefinition.unpacked(name, stored.definition)
        self._store.producer.enqueue_packed(
            *(definition.queue, definition.envelope.task),
            lambda _label: definition.task(instant_ms, now_ms),
            *(self._enqueue, None),
        )
        next_ms = definition.timing.next_after(instant_ms, stored.record.anchor_ms)
        if next_ms is None:
            self._store.change(name, "remove", self._enqueue, None)
        else:
            self._store.change(name, "pause", self._enqueue, None)
            self._store.change(name, "resume", self._enqueue, None, next_ms)
