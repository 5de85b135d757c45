"""Enqueues tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from ...core import ledger
from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core.definitions import OnConflict
from ...core.names import Namespace, Unit
from ...core.notifier import Notifier
from ...core.telemetry import during
from ...errors import ServerUnavailable
from .. import keys
from ..call import Call, checked_call, checked_calls
from ..enqueue_batch import EnqueueBatch, Packed, StoredTask, batched, packed
from ..partitions._async.definitions import AsyncPartitionDefinitions
from ..partitions._async.layout_store import AsyncLayoutStore
from ..partitions._async.repartitioning import AsyncRepartitioning
from ..partitions._async.spread import AsyncSpread
from ..partitions.placement import LayoutMoved, placement_of
from ..partitions.routing import check_keys
from .handle import AsyncTaskHandle
from .task_sender import AsyncTaskSender

R = TypeVar("R")


class AsyncProducer:
    """Enqueues tasks in the queues that they name.

    `AsyncHoldfast` makes one, and its methods call those of this class.

    Args:
        caller: sends the commands.
        notifier: notifies handles when their tasks end.
        catalog: registers the queues in use.
        namespace: namespace of the queues.

    Attributes:
        layouts: reads the layouts of the queues (into which partitions they are divided), and
            remembers them.
        repartitioning: changes the layouts.
        partition_definitions: the options that this program gives for queues with partitions.
    """

    def __init__(
        self, caller: AsyncCaller, notifier: Notifier, catalog: AsyncCatalog, namespace: Namespace
    ) -> None:
        self._caller = caller
        self._telemetry = caller.settings.telemetry
        self._notifier = notifier
        self._catalog = catalog
        self._namespace = namespace
        self.layouts: AsyncLayoutStore = AsyncLayoutStore(caller, namespace)
        self.repartitioning: AsyncRepartitioning = AsyncRepartitioning(caller, self.layouts)
        self.partition_definitions: AsyncPartitionDefinitions = AsyncPartitionDefinitions(
            self.layouts, self.repartitioning
        )
        self._sender = AsyncTaskSender(caller, catalog, self.layouts)

    def define(
        self, queue: str, capacity: int | None, on_conflict: OnConflict | None = None
    ) -> None:
        """Give a capacity with each task for *queue*; see `AsyncTaskSender.define`."""
        self._sender.define(queue, capacity, on_conflict)

    def redefined(self, queue: str, capacity: int | None) -> None:
        """Give the new *capacity* from now on, if this program gave one for *queue*."""
        if self._sender.capacity(queue) is not None:
            self._sender.define(queue, capacity)

    async def enqueue(self, call: Call[R], op_id: str | None) -> AsyncTaskHandle[R]:
        """Enqueue one task; see `AsyncHoldfast.enqueue`."""
        return await self._enqueue(checked_call(call).hooked(), op_id)

    async def _enqueue(self, call: Call[R], op_id: str | None) -> AsyncTaskHandle[R]:
        again = partial(self._enqueue, call)
        with self._caller.writers.operation(op_id, again, verb="enqueue") as operation:
            task_id = call.task_id or operation.label
            unit, facts = self.layouts.unit(call.queue), {"id": task_id, "task": call.task}
            with during(self._telemetry, "send", unit, facts=facts) as sent:
                task = packed(call, task_id, sent.trace)
                stored = await self._store_one(operation, call.queue, task, op_id, call)
        return self._handle(call, stored)

    async def enqueue_packed(
        self,
        queue: str,
        task: str,
        make: Callable[[str], Packed],
        repeat: Callable[..., Any],
        op_id: str | None,
    ) -> AsyncTaskHandle[Any]:
        """Enqueue one task that is packed already.

        Args:
            queue: name of the queue.
            task: name of the task in the registry.
            make: returns the packed task; it gets the label of the operation, for the task id.
            repeat: the public method, as in `AsyncCaller.write`.
            op_id: see `OutcomeUnknown`.
        """
        with self._caller.writers.operation(op_id, repeat, verb="enqueue") as operation:
            found = make(operation.label)
            unit, facts = self.layouts.unit(queue), {"id": found[0], "task": task}
            with during(self._telemetry, "send", unit, facts=facts):
                stored = await self._store_one(operation, queue, found, op_id)
        unit = self.layouts.unit(queue, stored.partition)
        return AsyncTaskHandle(
            *(stored.task_id, queue, unit, self._caller, self._notifier), enqueued=stored.enqueued
        )

    async def enqueue_batch(self, batch: EnqueueBatch, op_id: str) -> Sequence[int]:
        """Enqueue tasks that are packed already, in one step for each partition.

        If this fails, the caller repeats it with the same *op_id*.

        Returns:
            The positions of the tasks that are enqueued: all of them, unless a partition is full.

        Raises:
            QueueAtCapacity: there is no room for the tasks; none was stored.
            TaskExists: another task holds the key of one of the tasks; none was stored.
            PartOfQueue: the queue is a partition of another one.
        """
        with self._caller.writers.operation(op_id, ledger.never, verb="outbox") as operation:
            if not await self._has_partitions(batch.queue):
                writer, number = operation.writer, operation.number
                args = (writer, number, batch.tasks, batch.room, 0)
                with suppress(LayoutMoved):
                    await self._store_whole(batch.queue, *args)
                    return range(len(batch.tasks))
            spread = await self._spread(operation, batch.queue, [(operation.writer, batch)])
            return await spread.stored_where_is_room()

    async def enqueue_many(
        self, calls: Iterable[Call[R]], op_id: str | None
    ) -> list[AsyncTaskHandle[R]]:
        """Enqueue tasks in few steps; see `AsyncHoldfast.enqueue_many`."""
        return await self._enqueue_many([call.hooked() for call in checked_calls(calls)], op_id)

    async def _enqueue_many(
        self, calls: Sequence[Call[R]], op_id: str | None
    ) -> list[AsyncTaskHandle[R]]:
        again = partial(self._enqueue_many, calls)
        with self._caller.writers.operation(op_id, again, verb="enqueue_many") as operation:
            ids = [call.task_id or f"{operation.label}.{i}" for i, call in enumerate(calls)]
            with during(self._telemetry, "send", self._common(calls), amount=len(calls)) as sent:
                batches = list(batched(calls, ids, sent.trace))
                stored = await self._store_all(operation, batches, calls, op_id)
        # For each queue, `stored` has the tasks in the order of the calls.
        return [self._handle(call, next(stored[call.queue])) for call in calls]

    async def _store_all(
        self,
        operation: ledger.Operation,
        batches: Sequence[EnqueueBatch],
        calls: Sequence[Call[Any]],
        op_id: str | None,
    ) -> dict[str, Iterator[StoredTask]]:
        """Enqueue each batch in a step. Return, by queue, the task that runs for each call."""
        by_queue: dict[str, list[tuple[str, EnqueueBatch]]] = {}
        for i, batch in enumerate(batches):
            # Each step is an operation of its own: a repetition stores only what is missing.
            by_queue.setdefault(batch.queue, []).append((operation.part(i), batch))
        for queue in by_queue:
            if await self._has_partitions(queue):
                _check_keys(calls, queue)
        found: dict[str, list[StoredTask]] = {}
        for queue, originals in by_queue.items():
            own, before = found.setdefault(queue, []), sum(map(len, found.values()))
            try:
                if not await self._store_batches(operation, queue, originals, own, before):
                    _check_keys(calls, queue)
                    again = bool(own or op_id)
                    spread = await self._spread(operation, queue, originals)
                    own[:] = await spread.stored(repeated=again, before=before)
            except ServerUnavailable as error:
                if not (stored := before + len(own)):
                    raise
                done = f"{stored} of {sum(len(batch.tasks) for batch in batches)} tasks are stored"
                raise ledger.partly(error, done) from error
        return {queue: iter(tasks) for queue, tasks in found.items()}

    async def _store_batches(
        self,
        operation: ledger.Operation,
        queue: str,
        batches: Sequence[tuple[str, EnqueueBatch]],
        stored: list[StoredTask],
        before: int,
    ) -> bool:
        """Enqueue the batches of a queue. For each call, add the task that runs for it to *stored*.

        Returns:
            Whether the queue has no partitions; otherwise some batches may be missing.
        """
        if await self._has_partitions(queue):
            return False
        try:
            for writer, batch in batches:
                args = (operation.number, batch.tasks, batch.room, before + len(stored))
                stored += await self._store_whole(queue, writer, *args)
        except LayoutMoved:
            return False
        return True

    async def store(
        self,
        queue: str,
        writer: str,
        number: int,
        tasks: Sequence[Packed],
        room: int,
        before: int,
    ) -> list[StoredTask]:
        """Enqueue packed tasks in the first partition, in one step.

        Args:
            queue: name of the queue.
            writer: with *number*, identifies the step in the ledger, so that it can be repeated.
            number: see *writer*.
            tasks: the packed tasks.
            room: how many tasks the partition must have room for.
            before: how many tasks of the operation are stored already, for errors.
        """
        while True:
            placement = placement_of(room, self.layouts.known(queue).version)
            try:
                found = await self._sender.send(queue, 0, placement, writer, number, tasks, before)
            except LayoutMoved:
                (await self.layouts.read(queue)).check_whole(queue)
            else:
                return [stored for stored in found if stored is not None]

    async def _store_one(
        self,
        operation: ledger.Operation,
        queue: str,
        task: Packed,
        op_id: str | None,
        call: Call[Any] | None = None,
    ) -> StoredTask:
        """Enqueue one task."""
        if not await self._has_partitions(queue):
            with suppress(LayoutMoved):
                args = (operation.writer, operation.number, [task], 1, 0)
                [stored] = await self._store_whole(queue, *args)
                return stored
        if call is not None:
            check_keys(call)
        batch = EnqueueBatch(queue, 1)
        batch.add(task, len(task[-1]))
        spread = await self._spread(operation, queue, [(operation.writer, batch)])
        [stored] = await spread.stored(repeated=op_id is not None)
        return stored

    async def partitions(self, queue: str) -> int:
        """Return how many partitions of *queue* take tasks.

        If this program gives their number (`partition_definitions`), store it first.
        """
        if self.partition_definitions.has(queue):
            await self.partition_definitions.ensure(queue)
        return (await self.layouts.current(queue)).partitions

    async def _has_partitions(self, queue: str) -> bool:
        """Return whether *queue* is known to have partitions.

        If this program gives their number (`partition_definitions`), store it first.
        """
        if self.partition_definitions.has(queue):
            await self.partition_definitions.ensure(queue)
        layout = self.layouts.known(queue)
        layout.check_whole(queue)
        return layout.version > 0

    async def _store_whole(
        self, queue: str, writer: str, number: int, tasks: Sequence[Packed], room: int, before: int
    ) -> list[StoredTask]:
        """Enqueue tasks in a queue without partitions.

        Raises:
            LayoutMoved: the queue has partitions; `layouts` knows its layout now.
        """
        try:
            found = await self._sender.send(queue, 0, str(room), writer, number, tasks, before)
        except LayoutMoved:
            (await self.layouts.read(queue)).check_whole(queue)
            raise
        return found  # type: ignore[return-value]

    async def _spread(
        self, operation: ledger.Operation, queue: str, originals: Sequence[tuple[str, EnqueueBatch]]
    ) -> AsyncSpread:
        """Return the object that enqueues tasks in a queue with partitions."""
        await self.partition_definitions.ensure_capacity(queue, self._sender.capacity(queue))
        parts = (self.layouts, self.repartitioning, self._sender.send, queue, operation, originals)
        return AsyncSpread(*parts)

    def _common(self, calls: Sequence[Call[Any]]) -> Unit:
        """Return the queue that all of *calls* name, for the telemetry.

        If they name several queues, return a unit without a name.
        """
        queues = {call.queue for call in calls}
        return self._namespace.unit(keys.KIND, queues.pop() if len(queues) == 1 else "")

    def _handle(self, call: Call[Any], stored: StoredTask) -> AsyncTaskHandle[Any]:
        task_id, enqueued, index = stored
        unit = self.layouts.unit(call.queue, index)
        return AsyncTaskHandle(
            task_id, call.queue, unit, self._caller, self._notifier, call.returns, enqueued
        )


def _check_keys(calls: Iterable[Call[Any]], queue: str) -> None:
    """Check the calls for *queue*, which has partitions, with `check_keys`."""
    for call in calls:
        if call.queue == queue:
            check_keys(call)
