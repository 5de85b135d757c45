# Generated from _async/definitions.py by tools/unasync.py: edit that, then run `make sync`.
"""Store the options that a program gives for queues with partitions, before it enqueues there."""

from __future__ import annotations

from ....core.definitions import OnConflict, log_kept
from ....errors import DefinitionConflict
from ..definition_options import CapacityOption, PartitionsOption
from .layout_store import LayoutStore
from .repartitioning import Repartitioning


class PartitionDefinitions:
    """Stores the number of partitions and the capacity that a program gives for its queues.

    Args:
        layouts: reads the layouts.
        repartitioning: changes the layouts.
    """

    def __init__(self, layouts: LayoutStore, repartitioning: Repartitioning) -> None:
        self._layouts = layouts
        self._repartitioning = repartitioning
        self._partitions: dict[str, PartitionsOption] = {}  # not compared with what is stored yet
        self._capacities: dict[str, CapacityOption] = {}  # those compared already

    def give(self, queue: str, partitions: int, on_conflict: OnConflict) -> None:
        """Set the number of partitions of *queue* at the next enqueue."""
        self._partitions[queue] = PartitionsOption(partitions, on_conflict)

    def has(self, queue: str) -> bool:
        """Return whether a number was given that was not compared with the stored one yet."""
        return queue in self._partitions

    def forget(self, queue: str) -> None:
        """Forget the number that was given."""
        self._partitions.pop(queue, None)

    def ensure(self, queue: str) -> None:
        """Store the number of partitions that was given, if none is stored.

        Raises:
            DefinitionConflict: another number is stored, and the program wants an error.
        """
        given = self._partitions.get(queue)
        if given is None:  # Another thread has compared it.
            return
        layout = self._layouts.read(queue)
        if layout.partitions != given.number:
            what = f"the number of partitions of queue {queue!r}"
            if not layout.version or given.on_conflict == "update":
                self._repartitioning.change(queue, given.number)
            elif given.on_conflict == "error":
                raise DefinitionConflict(what, layout.partitions, given.number)
            else:
                log_kept(what, layout.partitions, given.number)
        self._partitions.pop(queue, None)

    def ensure_capacity(self, queue: str, given: CapacityOption | None) -> None:
        """Store the capacity that was given to a queue with partitions, if none is stored.

        Raises:
            DefinitionConflict: another capacity is stored, and the program wants an error.
        """
        if given is None or self._capacities.get(queue) == given:
            return
        stored = (self._layouts.settings(queue)).capacity
        if stored != given.tasks:
            what = f"the capacity of queue {queue!r}"
            if stored is None or given.on_conflict == "update":
                self._repartitioning.define(queue, capacity=given.tasks)
            elif given.on_conflict == "error":
                raise DefinitionConflict(what, stored or None, given.tasks)
            else:
                log_kept(what, stored or None, given.tasks)
        self._capacities[queue] = given
