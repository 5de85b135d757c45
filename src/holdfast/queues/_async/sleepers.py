"""Wakes sleeping tasks early, for tests."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core.clock import from_epoch_ms
from ...core.names import Namespace
from ...core.script import Script
from .. import keys
from ..partitions._async.partition import LIST_LIMIT, TASKS
from ..task_status import TaskStatus, listed

WAKE: Final = Script.load("holdfast.queues", "wake")


class AsyncSleepers:
    """Wakes tasks that sleep, or wait with a timeout, by a simulated clock (for tests).

    Args:
        caller: calls the scripts.
        namespace: namespace of the queues.
    """

    def __init__(self, caller: AsyncCaller, namespace: Namespace) -> None:
        self._caller = caller
        self._namespace = namespace
        self._ends: dict[tuple[str, str, str], float] = {}

    async def look(self, queues: Sequence[str], at_s: float) -> float | None:
        """Note the sleeps that have begun since the last call, at *at_s* seconds of the simulated
        clock.

        Returns:
            When the first sleep ends, in seconds of the simulated clock; None if there is none.
        """
        found: dict[tuple[str, str, str], float] = {}
        now = from_epoch_ms(round(time.time() * 1000))
        for queue in queues:
            for status in await self._suspended(queue):
                if status.due_at is not None:
                    name = (queue, status.task_id, status.reason)
                    left_s = max(0.0, (status.due_at - now).total_seconds())
                    found[name] = self._ends.get(name, at_s + left_s)
        self._ends = found
        return min(found.values(), default=None)

    async def wake_first(self) -> None:
        """End the sleep that ends first."""
        queue, task_id, _ = name = min(self._ends, key=self._ends.__getitem__)
        unit = self._namespace.unit(keys.KIND, queue)
        await self._caller.call(
            WAKE, unit, WAKE.keys(unit), [task_id], harmless=True, durable=False
        )
        del self._ends[name]

    async def _suspended(self, queue: str) -> list[TaskStatus]:
        unit = self._namespace.unit(keys.KIND, queue)
        args: list[str | int] = ["delayed", LIST_LIMIT]
        found = listed(await self._caller.call(TASKS, unit, TASKS.keys(unit), args))
        return [status for status in found if status.suspended]
