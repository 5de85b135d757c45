"""One row of an outbox, as the relay reads it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ..core.clock import from_epoch_ms
from ..core.names import encode_name
from ..errors import DecodeError, InvalidName
from ..queues.call import checked_task_id
from ..queues.enqueue_batch import Packed
from ..queues.envelope import Envelope

_TIME: Final = re.compile(r"0|[+@][0-9]{1,15}")

_MAY_BE_REFUSED: Final = re.compile(rb',"unique":"[a-z0-9]+ raise [0-9]+ [\w-]+"}$')
"""The end of the envelope of a task with `Unique(when="raise")`; see `Unique.packed`."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A task in an outbox that is not enqueued yet, or that can never be enqueued.

    Attributes:
        task_id: id of the task.
        queue: its queue.
        task: its name in the registry.
        created_at: when it was written, by the clock of the database.
        error: why it cannot be enqueued; empty while it waits.
    """

    task_id: str
    queue: str
    task: str
    created_at: datetime
    error: str = ""

    @classmethod
    def of(cls, row: Any) -> OutboxRow:
        """Return the task in a *row* of the table."""
        created_at = from_epoch_ms(row.created_ms)
        return cls(row.task_id, row.queue, row.task, created_at, row.error or "")


@dataclass(frozen=True, slots=True)
class OutboxStatus:
    """The status of an outbox.

    Attributes:
        waiting: how many rows wait for a relay.
        failed: how many rows can never be enqueued.
        oldest_at: when the oldest waiting row was written, by the clock of the database; None if
            no row waits.
    """

    waiting: int
    failed: int
    oldest_at: datetime | None

    @classmethod
    def of(cls, waiting: int, failed: int, oldest_ms: int | None) -> OutboxStatus:
        """Return the status with the counts of the database."""
        return cls(waiting, failed, None if oldest_ms is None else from_epoch_ms(oldest_ms))


def packed_row(row: Any, now_ms: int) -> Packed:
    """Return the task of a *row*. Its delay and expiry count from when the row was written.

    Args:
        row: a row of the table.
        now_ms: the time of the database, in ms since 1970.

    Raises:
        DecodeError: the row holds no task that can be enqueued.
    """
    what = f"the row of task {row.task_id!r}"
    try:
        checked_task_id(row.task_id)
        encode_name(row.queue)
    except InvalidName as error:
        raise DecodeError(what, str(error)) from error
    if row.priority not in (1, 2, 3):
        raise DecodeError(what, f"its priority is {row.priority!r}")
    for value in (row.wait, row.expires):
        if not _TIME.fullmatch(value):
            raise DecodeError(what, f"{value!r} is no delay or expiry")
    Envelope.unpacked(row.envelope, row.task_id)
    age_ms = max(0, now_ms - row.created_ms)
    wait, expires = _left(row.wait, age_ms), _left(row.expires, age_ms)
    return row.task_id, row.priority, wait, expires, row.envelope


def must_be_alone(envelope: bytes) -> bool:
    """Return whether the server may refuse the task because another task holds its unique key.

    The server then refuses all tasks of the step. So a task like this is enqueued in its own step.
    """
    return _MAY_BE_REFUSED.search(envelope) is not None


def _left(time: str, age_ms: int) -> str:
    """Return *time*, reduced by *age_ms* if it is a duration (`+ms`), but not a moment (`@ms`)."""
    return f"+{max(1, int(time[1:]) - age_ms)}" if time[0] == "+" else time
