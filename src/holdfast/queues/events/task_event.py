"""The events of a task, as readers get them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from ...core.clock import MAX_MS, from_epoch_ms
from ...core.codec import JSON, decoded, encoded
from ...core.gap import Gap
from ...core.stored import decoding
from ...errors import PayloadTooLarge
from .progress import Progress, progress_in

EVENT_BYTES: Final = 64 << 10
"""Largest size of one event, as JSON."""

PAGE_EVENTS: Final = 200
"""Events in one reply at most."""

Kind = Literal["progress", "event"]

PROGRESS: Final = b"p"
OWN: Final = b"e"
"""The letter before the JSON of an event that a task reported with `emit`."""

_KINDS: Final[dict[bytes, Kind]] = {PROGRESS: "progress", OWN: "event"}


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """What a task reported while it ran.

    Attributes:
        number: 1 for the first event of the task; the numbers have no gaps over all its attempts.
        kind: `progress`, from `current_task().progress`; or `event`, from `current_task().emit`.
        data: what was given to `emit`, as JSON values; for a progress `done`, and `total` and
            `message` if they were given.
        at: when the server stored it, by its clock.
        attempt: the attempt that reported it, 1 for the first. A run that its worker gave back,
            because it stopped or lost the lease, does not count: the next run has the same number.
    """

    number: int
    kind: Kind
    data: Any
    at: datetime
    attempt: int

    @property
    def progress(self) -> Progress | None:
        """Return the progress; None if this is no progress."""
        return progress_in(self.data) if self.kind == "progress" else None


@dataclass(frozen=True, slots=True)
class EventPage:
    """What one call of `events.lua` returned.

    Attributes:
        gap: what was dropped before `events`; None if nothing.
        events: the next events, in order.
        after: number of the last event that the reader has now.
        is_last: whether there will be no more: the task has ended, and these are its last events.
        is_complete: whether there are no more now.
    """

    gap: Gap | None
    events: list[TaskEvent]
    after: int
    is_last: bool
    is_complete: bool

    @classmethod
    def parsed(cls, reply: Sequence[Any], after: int, what: str) -> EventPage:
        """Return the page in *reply*, for a reader that has the events up to *after*.

        Raises:
            DecodeError: another program changed the events of *what*, a task.
        """
        is_open, last, records = reply
        with decoding(f"the events of {what}"):
            events = [_parsed(record) for record in records]
        gap = None
        if events and events[0].number > after + 1:
            gap = Gap(after + 1, events[0].number - 1, "dropped")
        elif not events and last > after:
            gap = Gap(after + 1, last, "dropped")  # all of them have expired
        elif 0 <= last < after:
            gap = Gap(last + 1, after, "reset")
        if events:
            after = events[-1].number
        elif gap is not None:
            after = gap.resume_after
        is_complete = after >= last
        return cls(gap, events, after, is_complete and not is_open, is_complete)


def packed_event(data: Any, task: str) -> bytes:
    """Return the *data* of an event as JSON. An error names the *task*.

    Raises:
        TypeError: JSON cannot store it.
        PayloadTooLarge: it takes more than `EVENT_BYTES`.
    """
    what = f"an event of task {task!r}"
    packed = encoded(JSON, data, what)
    if len(packed) > EVENT_BYTES:
        raise PayloadTooLarge(what, len(packed), EVENT_BYTES)
    return packed


def _parsed(record: bytes) -> TaskEvent:
    number, at_ms, attempt, content = record.split(b":", 3)
    at = int(at_ms)
    if not 0 < at < MAX_MS:
        raise ValueError(f"there is no instant {at} ms")
    data = decoded(JSON, content[1:], Any, "an event")
    return TaskEvent(int(number), _KINDS[content[:1]], data, from_epoch_ms(at), int(attempt))
