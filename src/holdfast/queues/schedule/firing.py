"""The decision which occurrences of a schedule are enqueued, and which are missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .definition import ScheduleDefinition
from .status import ScheduleRecord

LATE_MS: Final = 60_000
"""With `missed="skip"`, milliseconds by which an occurrence may be late and is still enqueued."""

MAX_MISSED: Final = 1000
"""With `missed="all"`, maximum number of occurrences that are enqueued after an outage: the
latest."""

MAX_PER_STEP: Final = 100
"""Maximum number of occurrences that one step enqueues. After an outage there are several steps."""


@dataclass(frozen=True, slots=True)
class Firing:
    """One step that handles due occurrences of a schedule.

    Attributes:
        instants_ms: instants of the occurrences to enqueue, in order.
        last_ms: the last instant that is handled.
        next_ms: the next instant; None: the schedule ends.
        missed: how many occurrences are not enqueued.
    """

    instants_ms: tuple[int, ...]
    last_ms: int
    next_ms: int | None
    missed: int = 0


def firing(
    definition: ScheduleDefinition,
    record: ScheduleRecord,
    due_ms: int,
    now_ms: int,
    most: int = MAX_PER_STEP,
) -> Firing:
    """Return what to do for a schedule with the stored instant *due_ms*, which has passed.

    Args:
        definition: definition of the schedule.
        record: what the schedule has done.
        due_ms: its first instant that is not handled, in ms since 1970.
        now_ms: the time of the server, in ms since 1970.
        most: occurrences to enqueue at most.
    """
    timing, anchor_ms = definition.timing, record.anchor_ms
    last_ms, missed = timing.last_until(now_ms, due_ms)
    if definition.missed == "all":
        too_many = max(0, missed + 1 - MAX_MISSED)
        first_ms = timing.back_from(last_ms, MAX_MISSED - 1) if too_many else due_ms
        instants = _instants(definition, record, first_ms, last_ms, most)
        next_ms = timing.next_after(instants[-1], anchor_ms)
        return Firing(instants, instants[-1], next_ms, too_many)
    next_ms = timing.next_after(last_ms, anchor_ms)
    if definition.missed == "skip" and now_ms - last_ms > LATE_MS:
        return Firing((), last_ms, next_ms, missed + 1)
    return Firing((last_ms,), last_ms, next_ms, missed)


def _instants(
    definition: ScheduleDefinition, record: ScheduleRecord, first_ms: int, last_ms: int, most: int
) -> tuple[int, ...]:
    """Return up to *most* instants of the occurrences from *first_ms* to *last_ms*."""
    instants: list[int] = []
    instant_ms: int | None = first_ms
    while instant_ms is not None and instant_ms <= last_ms and len(instants) < most:
        instants.append(instant_ms)
        instant_ms = definition.timing.next_after(instant_ms, record.anchor_ms)
    return tuple(instants)
