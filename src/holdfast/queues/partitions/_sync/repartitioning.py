# Generated from _async/repartitioning.py by tools/unasync.py: edit that, then run `make sync`.
"""Changes how many partitions a queue has, and what holds for all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ....core._sync.caller import Caller
from ....core.ledger import never
from ....core.names import Unit
from ....core.script import Script
from ....core.stored import stored_text
from ....errors import DefinitionConflict
from ... import keys
from ..layout import QueueLayout, partition_name
from ..whole_settings import WholeSettings
from .layout_store import LayoutStore
from .misplaced_keys import has_misplaced_keys
from .partition import LIMIT, PAUSE, REDEFINE

REPARTITION: Final = Script.load("holdfast.queues", "repartition")
JOIN: Final = Script.load("holdfast.queues", "join_layout")
SETTLE: Final = Script.load("holdfast.queues", "settle_layout")

KEPT_MS: Final = 24 * 3600 * 1000
"""Minimum milliseconds for which an earlier layout is kept, because a repeated operation needs it
to find its first answer. A ledger keeps answers for two hours."""


class Repartitioning:
    """Changes the layouts of the queues of a namespace.

    Args:
        caller: sends the commands.
        layouts: reads the layouts.
    """

    def __init__(self, caller: Caller, layouts: LayoutStore) -> None:
        self._caller = caller
        self._layouts = layouts

    def change(
        self,
        queue: str,
        partitions: int,
        *,
        op_id: str | None = None,
        repeat: Callable[..., Any] = never,
    ) -> QueueLayout:
        """Set the number of partitions of *queue*. New partitions get all settings before any task.

        Raises:
            ValueError: the capacity or a limit of the queue cannot be divided among so many.
            DefinitionConflict: the name of a partition is that of another queue, or there were too
                many changes.
        """
        whole = self._layouts.settings(queue)
        whole.check_shares(queue, max(partitions, whole.layout.served))
        self._write(queue, served=partitions)
        self.apply(queue)
        layout = self._write(queue, partitions, op_id=op_id, repeat=repeat)
        self.apply(queue)
        self.settle(queue)
        return layout

    def renew(self, queue: str) -> None:
        """Give the layout of *queue* a new version.

        This repairs a queue after the server has lost the latest version of the layout: partitions
        that store this version refuse producers that know only an earlier one.
        """
        layout = self._layouts.read(queue)
        self._write(queue, layout.partitions, renew=True)
        self.apply(queue)

    def define(self, queue: str, capacity: int | None = None, limit: str | None = None) -> None:
        """Set the capacity (0: no limit) or the limit of the whole queue."""
        whole = self._layouts.settings(queue)
        given = WholeSettings.parsed(
            [
                None,
                None if capacity is None else b"%d" % capacity,
                None if limit is None else limit.encode(),
                None,
                None,
            ],
            queue,
        )
        given.check_shares(queue, whole.layout.served)
        self._write(queue, capacity=capacity, limit=limit)
        self.apply(queue)

    def apply(self, queue: str) -> None:
        """Apply the settings of the queue to all its partitions. This may be repeated."""
        applied = None
        while applied != (whole := self._layouts.settings(queue)):
            for index in range(whole.layout.served):
                self._apply_to(queue, index, whole)
            applied = whole

    def settle(self, queue: str) -> QueueLayout:
        """Complete a change of the layout, as far as possible now.

        - Partitions that take no tasks are not served any more once they are empty.
        - Earlier layouts are forgotten after a day, once no partition has a key that belongs to
          another partition.
        """
        layout = self._layouts.read(queue)
        if not layout.version:
            return layout
        served = layout.served
        while served > layout.partitions and self._is_empty(queue, served - 1):
            served -= 1
        now_ms = int((self._caller.read(self._layouts.unit(queue), "TIME"))[0]) * 1000
        is_old = all(now_ms - each.until_ms > KEPT_MS for each in layout.earlier)
        forgets = bool(layout.earlier) and is_old and not self._has_misplaced(queue, layout)
        if served < layout.served or forgets:
            unit = self._layouts.unit(queue)
            args: list[str | int] = [str(layout.version), served, int(forgets), unit.channel]
            text = self._caller.call(SETTLE, unit, SETTLE.keys(unit), args, harmless=True)
            layout = self._layouts.learn(queue, text or None)
            self.apply(queue)
        return layout

    def partitions(self, queue: str) -> Iterator[Unit]:
        """Yield the partitions that may have tasks, and those that are added meanwhile.

        To change all of them, a caller changes the settings of the queue first, then each partition
        that this method yields. A new partition takes over these settings before it gets a task.
        """
        index = 0
        while index < (self._layouts.read(queue)).served:
            while index < self._layouts.known(queue).served:
                yield self._layouts.unit(queue, index)
                index += 1

    def _write(
        self,
        queue: str,
        partitions: int | None = None,
        *,
        served: int = 1,
        capacity: int | None = None,
        limit: str | None = None,
        renew: bool = False,
        op_id: str | None = None,
        repeat: Callable[..., Any] = never,
    ) -> QueueLayout:
        unit = self._layouts.unit(queue)
        given = ["" if each is None else each for each in (partitions, served, capacity, limit)]
        text = self._caller.write(
            REPARTITION, unit, *given, unit.channel, int(renew), op_id=op_id, repeat=repeat
        )
        if text == b"often":
            raise DefinitionConflict(
                f"the number of partitions of queue {queue!r}",
                self._layouts.known(queue).partitions,
                f"{partitions}, after too many changes; change it again a day after the first",
            )
        return self._layouts.learn(queue, text)

    def _apply_to(self, queue: str, index: int, whole: WholeSettings) -> None:
        """Give one partition the settings of the queue, and its share of capacity and limit."""
        unit = self._layouts.unit(queue, index)
        if index:
            args = [str(whole.layout.version)]
            reply = self._caller.call(JOIN, unit, JOIN.keys(unit), args, harmless=True)
            answer = stored_text(reply, f"the layout of queue {queue!r}")
            if answer == "taken":
                name = partition_name(queue, index)
                raise DefinitionConflict(
                    f"the name {name!r}", "a queue with tasks", f"a partition of queue {queue!r}"
                )
            self._set(PAUSE, unit, int(whole.paused))
        history = whole.history if index else None
        capacity = whole.capacity_of(index)
        if capacity is not None or history is not None:
            given = ["" if each is None else each for each in (capacity, history)]
            self._set(REDEFINE, unit, *given)
        self._set(LIMIT, unit, *whole.limit_of(index))

    def _set(self, script: Script, unit: Unit, *args: str | int) -> None:
        self._caller.write(script, unit, *args, op_id=None, repeat=never)

    def _is_empty(self, queue: str, index: int) -> bool:
        """Return whether a partition has no task, and no key that a task which is done still holds.

        The partition knows the latest layout, so it refuses new tasks.
        """
        unit = self._layouts.unit(queue, index)
        names = (keys.bodies(unit), keys.kept(unit), keys.member_ends(unit))
        return not self._caller.read(unit, "EXISTS", *names)

    def _has_misplaced(self, queue: str, layout: QueueLayout) -> bool:
        for index in range(layout.served):
            unit = self._layouts.unit(queue, index)
            if has_misplaced_keys(self._caller, unit, index, layout.partitions):
                return True
        return False
