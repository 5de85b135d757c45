# Generated from _async/spread.py by tools/unasync.py: edit that, then run `make sync`.
"""Enqueues tasks in queues with partitions.

Every operation can be repeated, also after the layout has changed. A ledger finds the answer of a
step by its writer (see `core/ledger.py`). So the writer of a step is computed only from the call
and the version of the layout; a repetition computes the same one. A repetition first asks the
partitions of the earlier layouts whether they have an answer, in the order of the steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from ....core.ledger import Operation, partly
from ....errors import QueueAtCapacity, ServerUnavailable
from ...enqueue_batch import EnqueueBatch, Packed, StoredTask, in_batches
from ..layout import EarlierLayout, QueueLayout
from ..placement import HELD, KNOWN, LayoutMoved, placement_of
from ..routing import RoutedTask, routed
from .layout_store import LayoutStore
from .repartitioning import Repartitioning

_TRIES: Final = 8
"""How often a step chooses partitions again, because the layout has changed meanwhile."""


class SendBatch(Protocol):
    """Enqueues tasks in one partition, in one step; see `TaskSender.send`."""

    def __call__(
        self,
        queue: str,
        index: int,
        placement: str,
        writer: str,
        number: int,
        tasks: Sequence[Packed],
        before: int,
    ) -> list[StoredTask | None]:
        """Return, for each of *tasks*, the task that runs for its call; None: it was not stored."""


class Spread:
    """Enqueues the tasks of one call in the partitions of one queue.

    Args:
        layouts: the layouts of the queues.
        repartitioning: repairs a layout after the server has lost its latest version.
        send: enqueues a batch.
        queue: name of the queue.
        operation: the call.
        originals: the batches with their writers, as a queue without partitions gets them.
    """

    def __init__(
        self,
        layouts: LayoutStore,
        repartitioning: Repartitioning,
        send: SendBatch,
        queue: str,
        operation: Operation,
        originals: Sequence[tuple[str, EnqueueBatch]],
    ) -> None:
        self._layouts = layouts
        self._repartitioning = repartitioning
        self._send_batch = send
        self._queue = queue
        self._operation = operation
        self._originals = originals
        self._tasks = list(routed(operation, (batch for _, batch in originals)))
        self._found: dict[int, StoredTask] = {}
        self._before = 0

    def stored(self, *, repeated: bool, before: int = 0) -> list[StoredTask]:
        """Enqueue the tasks. Return the task that runs for each call, in their order.

        Args:
            repeated: whether the operation may have been made before.
            before: how many tasks of the operation are stored in other queues.

        Raises:
            QueueAtCapacity: a partition has no room. Tasks in other partitions may be stored.
            ServerUnavailable: nothing was stored in this queue.
            OutcomeUnknown: some tasks were stored.
        """
        self._before = before
        try:
            return self._stored(repeated=repeated)
        except ServerUnavailable as error:
            if not self._found:
                raise
            done = f"{len(self._found)} of {len(self._tasks)} tasks of a queue are stored"
            raise partly(error, done) from error

    def stored_where_is_room(self) -> list[int]:
        """Enqueue the tasks of a call that may have been made before.

        Returns:
            The positions of those that are enqueued: all of them, unless a partition is full.

        Raises:
            QueueAtCapacity: none is enqueued.
            ServerUnavailable, OutcomeUnknown: see `stored`.
        """
        try:
            self.stored(repeated=True)
        except QueueAtCapacity:
            if not self._found:
                raise
        return sorted(self._found)

    def _stored(self, *, repeated: bool) -> list[StoredTask]:
        for _ in range(_TRIES):
            layout = self._layouts.known(self._queue)
            try:
                if repeated:
                    self._find_answers(layout)
                left = [task for task in self._tasks if task.position not in self._found]
                self._pass(layout, layout, left, "")
            except LayoutMoved:
                self._read_layout(layout)
            else:
                return [self._found[task.position] for task in self._tasks]
        raise ServerUnavailable(f"enqueue on queue {self._queue!r}", "its partitions change")

    def _read_layout(self, before: QueueLayout) -> None:
        """Read the layout that has replaced *before*."""
        layout = self._layouts.read(self._queue)
        if layout.version == before.version:
            # A partition knows a later version: the server of the queue has lost the last write.
            self._repartitioning.renew(self._queue)

    def _find_answers(self, layout: QueueLayout) -> None:
        """Ask the partitions of all earlier layouts whether they know this operation.

        Each pass begins with the tasks that the passes before it have not found. So its steps have
        the same tasks as in the first try, and the ledgers recognize them.
        """
        left = self._tasks
        for each in layout.earlier:
            if each.version:
                left = self._pass(layout, each, left, KNOWN)
                continue
            start = 0
            for writer, batch in self._originals:
                end = start + len(batch.tasks)
                where = layout.version, 0, KNOWN
                self._send(self._tasks[start:end], batch, where, writer)
                start = end
            left = [task for task in left if task.position not in self._found]

    def _pass(
        self,
        layout: QueueLayout,
        of: QueueLayout | EarlierLayout,
        left: list[RoutedTask],
        mode: str,
    ) -> list[RoutedTask]:
        """Enqueue the tasks in *left* in the partitions that the layout *of* chooses.

        A task with an id of its own or a key may have a counterpart in the partition of a layout
        before *of*. It is sent there first, to be stored only in that case (mode `HELD`).

        Returns:
            The tasks that are not enqueued.
        """
        for each in layout.earlier:
            if each.version < of.version:
                tasks = [task for task in left if task.may_be_held]
                done = self._send_all(layout, of, each, tasks, mode or HELD)
                left = [task for task in left if task.position not in done]
        done = self._send_all(layout, of, of, left, mode)
        return [task for task in left if task.position not in done]

    def _send_all(
        self,
        layout: QueueLayout,
        of: QueueLayout | EarlierLayout,
        chooser: QueueLayout | EarlierLayout,
        tasks: Iterable[RoutedTask],
        mode: str,
    ) -> set[int]:
        """Send *tasks* to the partitions that *chooser* chooses.

        Return the positions of those that are enqueued.
        """
        by_partition: dict[int, list[RoutedTask]] = {}
        for task in tasks:
            index = task.partition(self._operation, chooser.partitions)
            by_partition.setdefault(index, []).append(task)
        done, part = set[int](), 0
        for index, chosen in sorted(by_partition.items()):
            start = 0
            for batch in in_batches(self._queue, [(task.task, task.size) for task in chosen]):
                writer = self._operation.part(f"{of.version}.{chooser.version}.{part}")
                end, part = start + len(batch.tasks), part + 1
                where = layout.version, index, mode
                done |= self._send(chosen[start:end], batch, where, writer)
                start = end
        return done

    def _send(
        self,
        tasks: Sequence[RoutedTask],
        batch: EnqueueBatch,
        where: tuple[int, int, str],
        writer: str,
    ) -> set[int]:
        """Send *batch*, which has the *tasks*. Return the positions of those that are enqueued.

        Args:
            tasks: the tasks.
            batch: the same tasks, as they are sent.
            where: version of the layout, index of the partition, and mode.
            writer: the writer of the step.
        """
        version, index, mode = where
        placement = placement_of(batch.room, version, index, mode)
        number, before = self._operation.number, self._before + len(self._found)
        args = (self._queue, index, placement, writer, number, batch.tasks, before)
        try:
            found = self._send_batch(*args)
        except LayoutMoved:
            if mode == KNOWN:  # the partition knows no answer: this step was never made
                return set()
            raise
        by_position = {
            task.position: stored
            for task, stored in zip(tasks, found, strict=True)
            if stored is not None
        }
        self._found |= by_position
        return set(by_position)
