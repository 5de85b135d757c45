"""The handle of one schedule: its status, and how to pause, trigger and remove it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from ...core.checks import checked_int
from ...core.clock import from_epoch_ms
from ..schedule.definition import ScheduleDefinition
from ..schedule.status import ScheduleStatus
from .handle import AsyncTaskHandle
from .schedule_store import AsyncScheduleStore

MAX_NEXT: Final = 1000


@dataclass(frozen=True, slots=True)
class AsyncScheduleHandle:
    """A schedule by name.

    Made by `AsyncHoldfast.schedule` and `AsyncHoldfast.schedule_handle`.

    Attributes:
        name: name of the schedule.
    """

    name: str
    _store: AsyncScheduleStore = field(repr=False, compare=False)

    async def status(self) -> ScheduleStatus:
        """Return the status of the schedule: its definition, and what it has fired.

        Raises:
            NoSuchSchedule: It was removed, or has ended.
        """
        _, _, stored = await self._store.find(self.name)
        return ScheduleStatus.of(stored)

    async def next(self, count: int = 1) -> list[datetime]:
        """Return the next instants, in UTC; none while it is paused.

        Args:
            count: how many, 1 to 1,000. A schedule that ends may have fewer.

        Raises:
            NoSuchSchedule: It was removed, or has ended.
            ModuleNotFoundError: It is a `Cron`, and the extra `cron` is not installed.
        """
        count = checked_int(count, "count", 1, MAX_NEXT)
        _, _, stored = await self._store.find(self.name)
        timing = ScheduleDefinition.unpacked(self.name, stored.definition).timing
        instants: list[datetime] = []
        instant_ms = None if math.isinf(stored.next_ms) else int(stored.next_ms)
        while instant_ms is not None and len(instants) < count:
            instants.append(from_epoch_ms(instant_ms))
            instant_ms = timing.next_after(instant_ms, stored.record.anchor_ms)
        return instants

    async def pause(self, *, op_id: str | None = None) -> None:
        """Stop firing until `resume`. Instants that pass meanwhile are not fired later.

        Raises:
            NoSuchSchedule: It was removed, or has ended.
        """
        await self._store.change(self.name, "pause", self.pause, op_id)

    async def resume(self, *, op_id: str | None = None) -> None:
        """Fire again, from the next instant on.

        Raises:
            NoSuchSchedule: It was removed, or has ended.
            ModuleNotFoundError: It is a `Cron`, and the extra `cron` is not installed.
        """
        now_ms, _, stored = await self._store.find(self.name)
        timing = ScheduleDefinition.unpacked(self.name, stored.definition).timing
        after_ms = max(now_ms, stored.record.last_ms)
        next_ms = timing.next_after(after_ms, stored.record.anchor_ms)
        # A `Once` with an instant that passed during the pause fires now.
        await self._store.change(
            self.name, "resume", self.resume, op_id, now_ms if next_ms is None else next_ms
        )

    async def trigger(self, *, op_id: str | None = None) -> AsyncTaskHandle[Any]:
        """Enqueue a task of the schedule now, in addition to its instants, even while it is paused.

        Raises:
            NoSuchSchedule: It was removed, or has ended.
            QueueAtCapacity: The queue is full.
        """
        now_ms, _, stored = await self._store.find(self.name)
        definition = ScheduleDefinition.unpacked(self.name, stored.definition)
        return await self._store.producer.enqueue_packed(
            definition.queue,
            definition.envelope.task,
            lambda label: definition.task(now_ms, now_ms, f"{self.name}@{label}"[:200]),
            self.trigger,
            op_id,
        )

    async def remove(self, *, op_id: str | None = None) -> None:
        """Remove the schedule. Tasks that it has enqueued stay.

        Raises:
            NoSuchSchedule: It was removed already, or has ended.
        """
        await self._store.change(self.name, "remove", self.remove, op_id)
