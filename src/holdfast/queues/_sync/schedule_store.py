# Generated from _async/schedule_store.py by tools/unasync.py: edit that, then run `make sync`.
"""Store the schedules of a namespace, each in the hash slot of its queue."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, Literal

from ...core._sync.caller import Caller
from ...core._sync.catalog import Catalog
from ...core._sync.delivery import Argument
from ...core.names import Namespace, Unit
from ...core.script import Script
from ...core.stored import stored_text
from ...errors import HoldfastError, NoSuchSchedule, ScheduleExists
from .. import keys
from ..partitions._sync.schedule_check import SCHEDULES
from ..partitions.scheduled_keys import check_schedule, has_key
from ..schedule.definition import ScheduleDefinition
from ..schedule.status import ScheduleRecord, SchedulesReply, StoredSchedule
from ..schedule.times import Once
from .producer import Producer

DEFINE: Final = Script.load("holdfast.queues", "define_schedule")
NAME: Final = Script.load("holdfast.queues", "name_schedule")
SCHEDULE: Final = Script.load("holdfast.queues", "schedule")
SET: Final = Script.load("holdfast.queues", "set_schedule")

LIST_LIMIT: Final = 1000
"""Schedules in one reply at most."""

LISTED_QUEUES: Final = 50
"""Maximum number of queues in one batch of calls that reads their first schedules."""

FIRST_PAGE: Final = 50
"""Maximum number of schedules of each queue that such a batch of calls reads."""

_REASONS: Final = {
    b"declared": "code declares it; change it there, or choose another name",
    b"stored": "hf.schedule(…) has stored it; remove it, or choose another name",
}

Change = Literal["pause", "resume", "remove"]


class ScheduleStore:
    """Reads and writes schedules.

    Args:
        caller: sends the commands.
        catalog: registers the queues in use.
        producer: enqueues the tasks of `trigger`.
        namespace: namespace of the queues.
    """

    def __init__(
        self,
        caller: Caller,
        catalog: Catalog,
        producer: Producer,
        namespace: Namespace,
    ) -> None:
        self.producer = producer
        self._caller = caller
        self._catalog = catalog
        self._namespace = namespace
        self._directory = namespace.unit(keys.SCHEDULES, "")

    def define(self, definition: ScheduleDefinition, *, op_id: str | None = None) -> bool:
        """Store a definition, and the next instant of its schedule.

        Return False if *definition* is declared in code, and its last instant has been fired,
        perhaps in another queue. Then nothing is stored.

        Raises:
            ScheduleExists: A schedule of this name is in another queue; or one of the two
                definitions is declared in code, and the other was stored by `hf.schedule`.
            ValueError: The queue has partitions, and the tasks of the schedule are unique or have
                a limit key; or the schedule has no instant left.
        """
        unit = self._unit(definition.queue)
        if has_key(definition):
            layout = self.producer.layouts.current(definition.queue)
            if layout.partitions > 1:
                check_schedule(definition)
        moved = self._move_to(definition)
        if moved is not None and _has_ended(definition, moved):
            return False
        again = partial(self.define, definition)
        while True:
            now_ms, stored = self._read(unit, definition.name)
            if moved is not None and not stored.definition:
                # An earlier schedule of code that had this name may have left a record.
                stored = moved if moved.next_ms > stored.record.last_ms else stored
            next_ms, anchor_ms = _begin(definition, stored, now_ms)
            facts = (definition.name, definition.packed(), next_ms, anchor_ms, unit.channel)
            answer = self._caller.write(DEFINE, unit, *facts, op_id=op_id, repeat=again)
            if answer in (b"declared", b"stored"):
                raise ScheduleExists(definition.name, _REASONS[answer])
            if not answer.startswith(b"late"):
                break
        if moved is not None and math.isinf(moved.next_ms):
            self._set(unit, definition.name, "pause")
        self._name(definition.name, definition.queue)  # see `forget`
        self._catalog.note(unit)
        return True

    def refresh(self, definition: ScheduleDefinition) -> bool:
        """Report that this process still declares *definition*.

        Return whether this definition is in force, or the schedule has ended.
        """
        unit = self._unit(definition.queue)
        facts = (definition.name, definition.packed(), "", 0, unit.channel)
        answer: bytes = self._caller.write(DEFINE, unit, *facts, op_id=None, repeat=self.refresh)
        return answer in (b"same", b"ended")

    def queue_of(self, name: str) -> str:
        """Return the queue of a schedule.

        Raises:
            NoSuchSchedule: There is none with this name.
        """
        key = keys.schedule_queues(self._directory)
        queue = self._caller.read(self._directory, "HGET", key, name)
        if queue is None:
            raise NoSuchSchedule(name)
        return stored_text(queue, f"the queue of schedule {name!r}")

    def find(self, name: str) -> tuple[int, Unit, StoredSchedule]:
        """Return the time of the server (ms), the queue, and the schedule called *name*.

        Raises:
            NoSuchSchedule: There is none.
        """
        unit = self._unit(self.queue_of(name))
        now_ms, stored = self._read(unit, name)
        if not stored.definition:
            raise NoSuchSchedule(name)
        return now_ms, unit, stored

    def change(
        self, name: str, change: Change, repeat: Any, op_id: str | None, next_ms: int | str = ""
    ) -> None:
        """Pause, resume or remove a schedule.

        Raises:
            NoSuchSchedule: There is none with this name.
        """
        queue = self.queue_of(name)
        unit = self._unit(queue)
        found = self._caller.write(
            *(SET, unit, name, change, next_ms, unit.channel),
            op_id=op_id,
            repeat=repeat,
            verb=change,
        )
        if change == "remove" or not found:
            self.forget(name, queue)
        if not found:
            raise NoSuchSchedule(name)

    def forget(self, name: str, queue: str) -> None:
        """Forget that schedule *name* is in *queue*: it has ended, or was removed.

        The queue of a declared schedule that has ended stays noted, because it has a record there.

        Another program, or the last task of the schedule, may define the schedule again meanwhile.
        So this notes the queue again if the schedule exists, and `define` notes the queue once more
        after it has stored the schedule.
        """
        self._name(name, "", queue)
        _, stored = self._read(self._unit(queue), name)
        if stored.definition or stored.record != ScheduleRecord():
            self._name(name, queue)

    def page(
        self, unit: Unit, *, start: int = 0, limit: int = LIST_LIMIT, until: str = "+inf"
    ) -> SchedulesReply:
        """Return schedules of a queue, the next to fire first; see `schedules.lua`."""
        reply = self._caller.call(SCHEDULES, unit, SCHEDULES.keys(unit), [start, limit, until])
        return SchedulesReply.parsed(reply)

    def listed(self, queues: Iterable[str], limit: int) -> list[StoredSchedule]:
        """Return schedules of *queues*, *limit* schedules at most.

        Raises:
            DecodeError: Another program changed one of the schedules.
        """
        found: list[StoredSchedule] = []
        units = [self._unit(queue) for queue in queues]
        for at in range(0, len(units), LISTED_QUEUES):
            group = units[at : at + LISTED_QUEUES]
            if len(found) >= limit:
                break
            for unit, reply in zip(group, self._first_pages(group), strict=True):
                found += _readable(reply)
                start, most = reply.total, FIRST_PAGE
                while reply.total == most and len(found) < limit:
                    most = LIST_LIMIT
                    reply = self.page(unit, start=start, limit=most)  # noqa: PLW2901
                    found += _readable(reply)
                    start += reply.total
        return found[:limit]

    def _first_pages(self, units: Sequence[Unit]) -> list[SchedulesReply]:
        """Return the first schedules of some queues, with one call per server."""
        page: list[Argument] = [0, FIRST_PAGE, "+inf"]
        steps = [(unit, SCHEDULES.keys(unit), page) for unit in units]
        replies: list[SchedulesReply] = []
        for answer in self._caller.call_many(SCHEDULES, steps):
            if isinstance(answer, HoldfastError):
                raise answer
            replies.append(SchedulesReply.parsed(answer))
        return replies

    def _move_to(self, definition: ScheduleDefinition) -> StoredSchedule | None:
        """Note the queue of *definition*. Remove a declared schedule from another queue.

        Returns:
            The schedule that was removed, from which the caller takes an occurrence that was due.
            Or the record of a declared schedule that has ended, in this queue or the other one;
            then nothing is changed. None: neither.
        """
        name, queue = definition.name, definition.queue
        moved: StoredSchedule | None = None
        if definition.declared:
            _, own = self._read(self._unit(queue), name)
            if _has_ended(definition, own):
                return own
        noted = self._name(name, queue)
        while noted != queue:
            _, stored = self._read(self._unit(noted), name)
            if _has_ended(definition, stored):
                return stored
            if stored.definition and not definition.declared:
                raise ScheduleExists(
                    name, f"it is in queue {noted!r}; remove it there, or choose another name"
                )
            if stored.definition:
                self._set(self._unit(noted), name, "remove")
                moved = stored
            noted = self._name(name, queue, noted)
        return moved

    def _set(self, unit: Unit, name: str, change: Change) -> None:
        self._caller.write(SET, unit, name, change, "", "", op_id=None, repeat=self._set)

    def _name(self, name: str, queue: str, before: str = "") -> str:
        unit = self._directory
        reply: bytes = self._caller.call(
            NAME, unit, NAME.keys(unit), [name, queue, before], harmless=True
        )
        return stored_text(reply, f"the queue of schedule {name!r}")

    def _read(self, unit: Unit, name: str) -> tuple[int, StoredSchedule]:
        reply = self._caller.call(SCHEDULE, unit, SCHEDULE.keys(unit), [name])
        now_ms, definition, record, next_ms = reply
        return now_ms, StoredSchedule.parsed(name, definition, record, next_ms)

    def _unit(self, queue: str) -> Unit:
        return self._namespace.unit(keys.KIND, queue)


def _readable(reply: SchedulesReply) -> list[StoredSchedule]:
    for error in reply.damaged.values():
        raise error
    return reply.schedules


def _has_ended(definition: ScheduleDefinition, stored: StoredSchedule) -> bool:
    """Return whether a declared schedule has fired its last instant, so that it is not stored."""
    last_ms = stored.record.last_ms
    if not definition.declared or stored.definition or not last_ms:
        return False
    return definition.timing.next_after(last_ms, last_ms) is None


def _begin(definition: ScheduleDefinition, stored: StoredSchedule, now_ms: int) -> tuple[int, int]:
    """Return the first instant of a schedule that is defined now, and when its intervals begin.

    Raises:
        ValueError: It has no instant left.
    """
    # A declared schedule of this name may have left its record. It does not count for a stored one.
    is_known = stored.definition or definition.declared
    record, timing = stored.record if is_known else ScheduleRecord(), definition.timing
    if stored.definition and stored.next_ms <= now_ms:  # an occurrence that is due is not lost
        return int(stored.next_ms), int(stored.next_ms)
    # A change before the first occurrence keeps the instant from which intervals count. Otherwise
    # changes that follow each other, as in a rolling deployment, would postpone the occurrence.
    anchor_ms = record.last_ms or record.anchor_ms or now_ms
    after_ms = record.last_ms if isinstance(timing, Once) else max(now_ms, record.last_ms)
    next_ms = timing.next_after(after_ms, anchor_ms)
    if next_ms is None:
        raise ValueError(f"schedule {definition.name!r} has no instant left: {timing}")
    return next_ms, anchor_ms
