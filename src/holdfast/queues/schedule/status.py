"""The status of schedules, as their users see it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self

from ...core.clock import MAX_MS, from_epoch_ms
from ...core.stored import decoding, stored_int, stored_text
from ...errors import DecodeError
from .definition import Missed, Overlap, ScheduleDefinition
from .times import Timing


class ScheduleRecord(NamedTuple):
    """What a schedule has done, as it is stored; see `keys.schedule_state`."""

    revision: int = 0
    anchor_ms: int = 0
    last_ms: int = 0
    fired: int = 0
    missed: int = 0
    skipped: int = 0
    seen_ms: int = 0
    task_id: str = ""

    @classmethod
    def parsed(cls, text: bytes) -> Self:
        """Return the record in *text*; an empty one has done nothing.

        Raises:
            DecodeError: Another program wrote it.
        """
        if not text:
            return cls()
        what = "the record of a schedule"
        *numbers, task_id = text.split(b":", 7)
        with decoding(what):
            found = [stored_int(number, what, 0, MAX_MS) for number in numbers]
            revision, anchor, last, fired, missed, skipped, seen = found
        return cls(
            *(revision, anchor, last, fired, missed, skipped, seen), stored_text(task_id, what)
        )


class StoredSchedule(NamedTuple):
    """One schedule, as the server returns it.

    Attributes:
        name: name of the schedule.
        definition: as stored; empty if there is none.
        record: what it has done.
        next_ms: its next instant in ms since 1970; infinite while it is paused.
    """

    name: str
    definition: bytes
    record: ScheduleRecord
    next_ms: float

    @classmethod
    def parsed(cls, name: str, definition: bytes, record: bytes, next_ms: bytes | float) -> Self:
        """Return a schedule from its values in a reply.

        Raises:
            DecodeError: Another program changed it.
        """
        with decoding(f"the next instant of schedule {name!r}"):
            instant = float(next_ms or math.inf)
            if instant != math.inf and not (instant.is_integer() and 0 <= instant <= MAX_MS):
                raise ValueError(instant)
        return cls(name, definition, ScheduleRecord.parsed(record), instant)


@dataclass(frozen=True, slots=True)
class ScheduleStatus:
    """One schedule.

    Attributes:
        name: name of the schedule.
        queue: name of the queue of its tasks.
        task: the name of its task.
        timing: when it fires.
        next_at: its next instant; None while it is paused.
        last_at: its last instant that was handled; None: it has not been due yet.
        last_task_id: id of the last task that it enqueued; None: there was none.
        paused: whether it is paused.
        declared: whether the code of an application declares it.
        declared_at: when a worker last declared it; None: it is not declared.
        missed_policy: `once`, `skip` or `all`.
        overlap: `allow` or `skip`.
        fired: tasks that it has enqueued.
        missed: occurrences that no worker fired in time, and that were not enqueued.
        skipped: occurrences that were not enqueued because the task before had not ended, or
            another task held the key of the call (see `Unique`).
    """

    name: str
    queue: str
    task: str
    timing: Timing
    next_at: datetime | None
    last_at: datetime | None
    last_task_id: str | None
    paused: bool
    declared: bool
    declared_at: datetime | None
    missed_policy: Missed
    overlap: Overlap
    fired: int
    missed: int
    skipped: int

    @classmethod
    def of(cls, stored: StoredSchedule) -> ScheduleStatus:
        """Return the status of a stored schedule.

        Raises:
            DecodeError: Its definition cannot be read.
        """
        definition = ScheduleDefinition.unpacked(stored.name, stored.definition)
        record, paused = stored.record, math.isinf(stored.next_ms)
        return cls(
            stored.name,
            definition.queue,
            definition.envelope.task,
            definition.timing,
            None if paused else from_epoch_ms(int(stored.next_ms)),
            from_epoch_ms(record.last_ms) if record.last_ms else None,
            record.task_id or None,
            paused,
            definition.declared,
            from_epoch_ms(record.seen_ms) if definition.declared and record.seen_ms else None,
            definition.missed,
            definition.overlap,
            record.fired,
            record.missed,
            record.skipped,
        )


class SchedulesReply(NamedTuple):
    """The reply of `schedules.lua`.

    Attributes:
        now_ms: the time of the server.
        schedules: those that could be read.
        damaged: the errors of the others, by name.
        later_ms: the first instant after the range that was asked for; infinite: there is none.
        total: how many schedules the reply has, damaged ones too.
    """

    now_ms: int
    schedules: list[StoredSchedule]
    damaged: dict[str, DecodeError]
    later_ms: float
    total: int

    @classmethod
    def parsed(cls, reply: Sequence[Any]) -> Self:
        """Return the schedules in a reply."""
        now_ms, *values, later = reply
        found: list[StoredSchedule] = []
        damaged: dict[str, DecodeError] = {}
        for i in range(0, len(values), 4):
            name = values[i].decode(errors="backslashreplace")
            try:
                found.append(StoredSchedule.parsed(name, *values[i + 1 : i + 4]))
            except DecodeError as error:
                damaged[name] = error
        return cls(now_ms, found, damaged, float(later), len(values) // 4)
