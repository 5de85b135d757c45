# Generated from _async/task_sender.py by tools/unasync.py: edit that, then run `make sync`.
"""Sends packed tasks to a partition of a queue, in one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ...core._sync.caller import Argument, Caller
from ...core._sync.catalog import Catalog
from ...core.definitions import OnConflict, given_option, log_kept
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import decoding
from ...errors import DefinitionConflict, QueueAtCapacity, TaskExists
from .. import keys
from ..enqueue_batch import Packed, StoredTask, plain_arguments, stored_tasks
from ..partitions._sync.layout_store import LayoutStore
from ..partitions.definition_options import CapacityOption
from ..partitions.placement import HELD, LayoutMoved

ENQUEUE: Final = Script.load("holdfast.queues", "enqueue")
ENQUEUE_PLAIN: Final = Script.load("holdfast.queues", "enqueue_plain", called="enqueue")

TARGETS_LIMIT: Final = 4096
"""Maximum number of partitions with cached keys."""


class _Target(NamedTuple):
    """A partition, and the keys of the two scripts that enqueue tasks."""

    unit: Unit
    keys: tuple[str | bytes, ...]
    plain_keys: tuple[str | bytes, ...]


class TaskSender:
    """Sends packed tasks (see `Packed`) to the partitions of queues.

    Args:
        caller: sends the commands.
        catalog: registers the queues in use.
        layouts: names the partitions of queues.
    """

    def __init__(self, caller: Caller, catalog: Catalog, layouts: LayoutStore) -> None:
        self._caller = caller
        self._catalog = catalog
        self._layouts = layouts
        self._targets: dict[tuple[str, int], _Target] = {}
        self._capacities: dict[str, CapacityOption] = {}

    def define(
        self, queue: str, capacity: int | None, on_conflict: OnConflict | None = None
    ) -> None:
        """Give this *capacity* with each task for *queue*; None: give none.

        Args:
            queue: name of the queue.
            capacity: how many tasks may wait in it.
            on_conflict: what happens if the server stores another capacity; None: as the last call
                said, or `keep`.
        """
        before = self._capacities.pop(queue, None)
        if capacity is not None:
            on_conflict = on_conflict or (before.on_conflict if before else "keep")
            self._capacities[queue] = CapacityOption(capacity, on_conflict)

    def capacity(self, queue: str) -> CapacityOption | None:
        """Return the capacity that this program gives to *queue*."""
        return self._capacities.get(queue)

    def send(
        self,
        queue: str,
        index: int,
        placement: str,
        writer: str,
        number: int,
        tasks: Sequence[Packed],
        before: int,
    ) -> list[StoredTask | None]:
        """Enqueue packed tasks in one step.

        Args:
            queue: name of the queue.
            index: the partition.
            placement: as `placement_of` returns it.
            writer: with *number*, identifies the step in the ledger, so that it can be repeated.
            number: see *writer*.
            tasks: the packed tasks.
            before: how many tasks of the operation are stored already, for errors.

        Returns:
            For each of *tasks*, the task that runs for its call. None: it was not stored, because
            *placement* allows only tasks that this partition holds (see `HELD`).

        Raises:
            LayoutMoved: the layout has changed; nothing was stored.
        """
        target = self._target(queue, index)
        unit = target.unit
        given = None if " " in placement else self._capacities.get(queue)
        defined = "" if given is None else given_option(*given)
        head: list[Argument] = [writer, number, defined, placement]
        reply = self._stored(target, head, tasks)
        # Digits and ids; before them, or instead of them, a word for a warning or an error.
        words = reply.decode().split(" ")
        if words[0] == "moved":
            raise LayoutMoved
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
            return stored_tasks(tasks, words[0], words[1:], index)

    def _stored(self, target: _Target, head: list[Argument], tasks: Sequence[Packed]) -> bytes:
        """Store *tasks* in one step, and return its reply. *head*: the arguments before them."""
        is_plain = not str(head[-1]).endswith(HELD)
        if is_plain and (plain := plain_arguments(tasks)) is not None:
            reply: bytes = self._caller.call(
                ENQUEUE_PLAIN, target.unit, target.plain_keys, [*head, *plain]
            )
            if reply != b"special":
                return reply
        head += [part for task in tasks for part in task]
        stored: bytes = self._caller.call(ENQUEUE, target.unit, target.keys, head)
        return stored

    def _target(self, queue: str, index: int = 0) -> _Target:
        target = self._targets.get((queue, index))
        if target is None:
            if len(self._targets) >= TARGETS_LIMIT:
                self._targets.clear()
            unit = self._layouts.unit(queue, index)
            target = _Target(unit, ENQUEUE.keys(unit), ENQUEUE_PLAIN.keys(unit))
            self._targets[queue, index] = target
        return target
