# Generated from _async/producer.py by tools/unasync.py: edit that, then run `make sync`.
"""Enqueues tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from ...core import ledger
from ...core._sync.caller import Argument, Caller
from ...core._sync.catalog import Catalog
from ...core.definitions import OnConflict, given_option, log_kept
from ...core.names import Namespace, Unit
from ...core.notifier import Notifier
from ...core.script import Script
from ...core.stored import decoding
from ...core.telemetry import during
from ...errors import DefinitionConflict, QueueAtCapacity, ServerUnavailable, TaskExists
from .. import keys
from ..call import Call, checked_call, checked_calls
from ..enqueue_batch import (
    EnqueueBatch,
    Packed,
    StoredTask,
    batched,
    packed,
    plain_arguments,
    stored_tasks,
)
from .handle import TaskHandle

ENQUEUE: Final = Script.load("holdfast.queues", "enqueue")
ENQUEUE_PLAIN: Final = Script.load("holdfast.queues", "enqueue_plain", called="enqueue")

TARGETS_LIMIT: Final = 4096
"""Queues with cached keys."""

R = TypeVar("R")


class _Target(NamedTuple):
    """A queue, and the keys of the two scripts that enqueue tasks."""

    unit: Unit
    keys: tuple[str | bytes, ...]
    plain_keys: tuple[str | bytes, ...]


class _Capacity(NamedTuple):
    """The capacity that this program gives to a queue, and what happens if another is stored."""

    tasks: int
    on_conflict: OnConflict


class Producer:
    """Enqueues tasks in the queues that they name.

    Made by `Holdfast`, which passes its methods on.

    Args:
        caller: sends the commands.
        notifier: notifies handles when their tasks end.
        catalog: registers the queues in use.
        namespace: of the queues.
    """

    def __init__(
        self, caller: Caller, notifier: Notifier, catalog: Catalog, namespace: Namespace
    ) -> None:
        self._caller = caller
        self._telemetry = caller.settings.telemetry
        self._notifier = notifier
        self._catalog = catalog
        self._namespace = namespace
        self._targets: dict[str, _Target] = {}
        self._capacities: dict[str, _Capacity] = {}

    def define(
        self, queue: str, capacity: int | None, on_conflict: OnConflict | None = None
    ) -> None:
        """Give this *capacity* with each task for *queue*; None: give none.

        Args:
            queue: name of the queue.
            capacity: how many tasks may wait in it.
            on_conflict: what happens if the server stores another one; None: as before.
        """
        before = self._capacities.pop(queue, None)
        if capacity is not None:
            on_conflict = on_conflict or (before.on_conflict if before else "keep")
            self._capacities[queue] = _Capacity(capacity, on_conflict)

    def enqueue(self, call: Call[R], op_id: str | None) -> TaskHandle[R]:
        """Enqueue one task; see `Holdfast.enqueue`."""
        return self._enqueue(checked_call(call).hooked(), op_id)

    def _enqueue(self, call: Call[R], op_id: str | None) -> TaskHandle[R]:
        again = partial(self._enqueue, call)
        with self._caller.writers.operation(op_id, again, verb="enqueue") as operation:
            task_id = call.task_id or operation.label
            unit, facts = self._target(call.queue).unit, {"id": task_id, "task": call.task}
            with during(self._telemetry, "send", unit, facts=facts) as sent:
                task = packed(call, task_id, sent.trace)
                writer, number = operation.writer, operation.number
                [stored] = self.store(call.queue, writer, number, [task], 1, 0)
        return self._handle(call, stored)

    def enqueue_packed(
        self,
        queue: str,
        task: str,
        make: Callable[[str], Packed],
        repeat: Callable[..., Any],
        op_id: str | None,
    ) -> TaskHandle[Any]:
        """Enqueue one task that is packed already.

        Args:
            queue: its queue.
            task: its name in the registry.
            make: returns it packed; called with the label of the operation.
            repeat: the public method, as in `Caller.write`.
            op_id: see `OutcomeUnknown`.
        """
        with self._caller.writers.operation(op_id, repeat, verb="enqueue") as operation:
            found = make(operation.label)
            unit, facts = self._target(queue).unit, {"id": found[0], "task": task}
            with during(self._telemetry, "send", unit, facts=facts):
                writer, number = operation.writer, operation.number
                [stored] = self.store(queue, writer, number, [found], 1, 0)
        return TaskHandle(
            *(stored.task_id, queue, unit, self._caller, self._notifier), enqueued=stored.enqueued
        )

    def enqueue_batch(self, batch: EnqueueBatch, op_id: str) -> list[StoredTask]:
        """Enqueue tasks that are packed already, in one step. The caller repeats it with *op_id*.

        Raises:
            QueueAtCapacity: there is no room for all of them; none was stored.
            TaskExists: another task holds the key of one of them; none was stored.
        """
        with self._caller.writers.operation(op_id, ledger.never, verb="outbox") as operation:
            writer, number = operation.writer, operation.number
            return self.store(batch.queue, writer, number, batch.tasks, batch.room, 0)

    def enqueue_many(self, calls: Iterable[Call[R]], op_id: str | None) -> list[TaskHandle[R]]:
        """Enqueue tasks in few steps; see `Holdfast.enqueue_many`."""
        return self._enqueue_many([call.hooked() for call in checked_calls(calls)], op_id)

    def _enqueue_many(self, calls: Sequence[Call[R]], op_id: str | None) -> list[TaskHandle[R]]:
        again = partial(self._enqueue_many, calls)
        with self._caller.writers.operation(op_id, again, verb="enqueue_many") as operation:
            ids = [call.task_id or f"{operation.label}.{i}" for i, call in enumerate(calls)]
            with during(self._telemetry, "send", self._common(calls), amount=len(calls)) as sent:
                stored = self._store_all(operation, list(batched(calls, ids, sent.trace)))
        # Each queue has its own batches, in the order of its calls.
        return [self._handle(call, next(stored[call.queue])) for call in calls]

    def _store_all(
        self, operation: ledger.Operation, batches: Sequence[EnqueueBatch]
    ) -> dict[str, Iterator[StoredTask]]:
        """Enqueue batches, a step for each. Return the tasks that run, by queue."""
        found: dict[str, list[StoredTask]] = {}
        stored = 0
        for i, batch in enumerate(batches):
            # Each step is an operation of its own: a repetition stores only what is missing.
            try:
                writer, number = operation.part(i), operation.number
                found.setdefault(batch.queue, []).extend(
                    self.store(batch.queue, writer, number, batch.tasks, batch.room, stored)
                )
            except ServerUnavailable as error:
                if i == 0:
                    raise
                done = f"{stored} of {sum(len(batch.tasks) for batch in batches)} tasks are stored"
                raise ledger.partly(error, done) from error
            stored += len(batch.tasks)
        return {queue: iter(tasks) for queue, tasks in found.items()}

    def store(
        self,
        queue: str,
        writer: str,
        number: int,
        tasks: Sequence[Packed],
        room: int,
        before: int,
    ) -> list[StoredTask]:
        """Enqueue packed tasks in one step; *before* is how many are stored already."""
        unit = self._target(queue).unit
        given = self._capacities.get(queue)
        defined = "" if given is None else given_option(*given)
        reply = self._stored(queue, [writer, number, defined, room], tasks)
        words = reply.decode().split(" ")  # digits and ids, or what is to be reported before them
        if words[0] == "exists":
            raise TaskExists(words[1], queue, before)
        if words[0] in ("full", "conflict", "kept"):
            with decoding(keys.settings(unit)):
                capacity = int(words[1])
            if words[0] == "full":
                raise QueueAtCapacity(queue, capacity, before)
            if given is not None:  # another capacity is stored
                what, other = f"the capacity of queue {queue!r}", capacity or None
                if words[0] == "conflict":
                    raise DefinitionConflict(what, other, given.tasks, before)
                log_kept(what, other, given.tasks)
            words = words[2:]
        self._catalog.note(unit)
        with decoding(f"the ledger of queue {queue!r}"):
            return stored_tasks(tasks, words[0], words[1:])

    def _stored(self, queue: str, head: list[Argument], tasks: Sequence[Packed]) -> bytes:
        """Store *tasks* in one step, and return its reply. *head* is its first arguments."""
        target = self._target(queue)
        if (plain := plain_arguments(tasks)) is not None:
            reply: bytes = self._caller.call(
                ENQUEUE_PLAIN, target.unit, target.plain_keys, [*head, *plain]
            )
            if reply != b"special":
                return reply
        head += [part for task in tasks for part in task]
        stored: bytes = self._caller.call(ENQUEUE, target.unit, target.keys, head)
        return stored

    def _common(self, calls: Sequence[Call[Any]]) -> Unit:
        """Return the queue that all of *calls* name; if they name several, one without a name."""
        queues = {call.queue for call in calls}
        return self._namespace.unit(keys.KIND, queues.pop() if len(queues) == 1 else "")

    def _target(self, queue: str) -> _Target:
        target = self._targets.get(queue)
        if target is None:
            if len(self._targets) >= TARGETS_LIMIT:
                self._targets.clear()
            unit = self._namespace.unit(keys.KIND, queue)
            target = _Target(unit, ENQUEUE.keys(unit), ENQUEUE_PLAIN.keys(unit))
            self._targets[queue] = target
        return target

    def _handle(self, call: Call[Any], stored: StoredTask) -> TaskHandle[Any]:
        unit, (task_id, enqueued) = self._target(call.queue).unit, stored
        return TaskHandle(
            task_id, call.queue, unit, self._caller, self._notifier, call.returns, enqueued
        )
