"""The queue as its producers and operators see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from ..core import ledger
from ..core.call._async import AsyncCaller
from ..core.catalog._async import AsyncCatalog
from ..core.names import Namespace
from ..core.script import Script
from ..errors import OutcomeUnknown, ServerUnavailable
from . import keys
from .packing import Packed, batched, dead_task, packed
from .task import Call, DeadTask, QueueStats, checked_task_id

ENQUEUE: Final = Script.load("holdfast.queues", "enqueue")
STATS: Final = Script.load("holdfast.queues", "stats")
DEAD: Final = Script.load("holdfast.queues", "dead")
REPLAY: Final = Script.load("holdfast.queues", "replay")

LIST_LIMIT: Final = 1000
"""Tasks in one reply at most."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class AsyncTaskHandle(Generic[R]):
    """A task that was enqueued.

    Attributes:
        task_id: its id.
        queue: the name of the queue it was put into.
    """

    task_id: str
    queue: str


class AsyncQueue:
    """A queue by name; it exists as long as it holds a task.

    Made by `AsyncHoldfast.queue`.
    """

    def __init__(self, caller: AsyncCaller, namespace: Namespace, name: str) -> None:
        self.name = name
        self._caller = caller
        self._unit = namespace.unit(keys.KIND, name)

    def __repr__(self) -> str:
        return f"AsyncQueue({self.name!r})"

    async def stats(self) -> QueueStats:
        """How many tasks are where."""
        unit = self._unit
        names = [*keys.ready(unit), *keys.due(unit), keys.leases(unit), keys.dead(unit)]
        reply = await self._caller.call(STATS, unit, [*names, keys.idle(unit)], [])
        return QueueStats(*reply)

    async def dead(self, limit: int = 100) -> list[DeadTask]:
        """The tasks that were given up, the latest first; *limit* is 1 to 1,000."""
        if not 1 <= limit <= LIST_LIMIT:
            raise ValueError(f"limit must be 1 to {LIST_LIMIT}, got {limit}")
        unit = self._unit
        names = [keys.dead(unit), keys.bodies(unit), keys.state(unit)]
        reply = await self._caller.call(DEAD, unit, names, [limit])
        return [dead_task(*reply[i : i + 4]) for i in range(0, len(reply), 4)]

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
        unit = self._unit
        names = [keys.dead(unit), keys.bodies(unit), keys.state(unit), *keys.ready(unit)]
        with self._caller.writers.operation(
            op_id, lambda op_id: self.replay(task_ids, op_id=op_id)
        ) as operation:
            replayed: int = await self._caller.call(
                REPLAY,
                unit,
                [*names, keys.idle(unit), *ledger.keys(unit)],
                [operation.writer, operation.number, limit, *named],
            )
        return replayed


class AsyncProducer:
    """Puts tasks in line, in the queues that they name.

    Made by `AsyncHoldfast`, which passes its methods on.
    """

    def __init__(self, caller: AsyncCaller, catalog: AsyncCatalog, namespace: Namespace) -> None:
        self._caller = caller
        self._catalog = catalog
        self._namespace = namespace

    async def enqueue(self, call: Call[R], op_id: str | None) -> AsyncTaskHandle[R]:
        """Put one task in line; see `AsyncHoldfast.enqueue`."""
        queue = call.queue
        with self._caller.writers.operation(
            op_id, lambda op_id: self.enqueue(call, op_id)
        ) as operation:
            task_id = call.task_id or operation.label
            task = packed(call, task_id)
            await self._store(queue, operation.writer, operation.number, [task])
        return AsyncTaskHandle(task_id, queue)

    async def enqueue_many(
        self, calls: Sequence[Call[R]], op_id: str | None
    ) -> list[AsyncTaskHandle[R]]:
        """Put tasks in line in few steps; see `AsyncHoldfast.enqueue_many`."""
        with self._caller.writers.operation(
            op_id, lambda op_id: self.enqueue_many(calls, op_id)
        ) as operation:
            ids = [call.task_id or f"{operation.label}.{i}" for i, call in enumerate(calls)]
            batches = list(batched(calls, ids))
            for i, batch in enumerate(batches):
                # Each step is an operation of its own: repeating the whole repeats what is missing.
                try:
                    await self._store(batch.queue, operation.part(i), operation.number, batch.tasks)
                except ServerUnavailable as error:
                    if i == 0:
                        raise
                    stored = sum(len(done.tasks) for done in batches[:i])
                    problem = f"{stored} of {len(calls)} tasks are stored, then {error.reason}"
                    raise OutcomeUnknown(error.action, problem) from error
        return [
            AsyncTaskHandle(task_id, call.queue) for call, task_id in zip(calls, ids, strict=True)
        ]

    async def _store(self, queue: str, writer: str, number: int, tasks: Sequence[Packed]) -> None:
        """Put packed tasks in line, in one step."""
        unit = self._namespace.unit(keys.KIND, queue)
        names = [keys.bodies(unit), *keys.ready(unit), *keys.due(unit), keys.idle(unit)]
        parts = [part for task in tasks for part in task]
        await self._caller.call(
            ENQUEUE, unit, [*names, *ledger.keys(unit)], [writer, number, *parts]
        )
        await self._catalog.note(unit)
