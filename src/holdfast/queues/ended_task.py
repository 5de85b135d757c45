"""Tasks in the history of a queue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from ..core.checks import checked_int
from ..core.clock import MAX_MS, from_epoch_ms

MAX_HISTORY: Final = 100_000
"""Maximum length of a history that can be set; each task in it takes about 100 bytes."""

NO_FACTS: Final = ":0:"
"""The value of `Settlement.facts` if neither the duration nor the name of the task is known."""

_NAME_LIMIT: Final = 200
"""Characters of a name that are stored, because another program may have chosen a longer one."""

_BEFORE_ID: Final = re.compile(
    rb"\d+:(\d{1,15}):(done|dead|cancelled):(\d{1,15}):(\d{1,15}):(\d{1,15}):"
)
_BEFORE_NAME: Final = re.compile(rb"(\d{0,15}):(\d{1,15}):")
_KIND: Final = re.compile(rb"[\w-]+")
_DAMAGED: Final = b"0:0:dead:0:0:0::0: unreadable: another program changed this record"

State = Literal["done", "dead", "cancelled"]


@dataclass(frozen=True, slots=True)
class EndedTask:
    """A task that has ended, from the history of its queue.

    Attributes:
        task_id: its id.
        task: its name; empty if it is not known.
        state: `done`, `dead` or `cancelled`. A dead task may have been replayed since.
        outcome: `done`, `cancelled`, or why it is dead: `failed`, `expired`, `crashed` or another
            first word of the reason.
        ended_at: when it ended, by the server's clock.
        duration: seconds that its last attempt took; None if no worker reported it.
        attempts: how many attempts were started.
        crashes: attempts during which the worker vanished.
        worker: name of the worker that ran it last; empty if it did not run.
        reason: why it is dead.
        number: its number in the history, for `before`; a task that ended later has a higher one.
            0 in the history of several partitions.
    """

    task_id: str
    task: str
    state: State
    outcome: str
    ended_at: datetime
    duration: float | None
    attempts: int
    crashes: int
    worker: str
    reason: str
    number: int


def name_fact(name: str) -> str:
    """Return the part of `Settlement.facts` with the name of a task; it follows the duration."""
    data = name[:_NAME_LIMIT].encode(errors="replace")
    return f":{len(data)}:{data.decode()}"


def ended_tasks(values: Sequence[Any]) -> list[EndedTask]:
    """Return the tasks in a reply of `history.lua`. If a record is damaged, the reason says so."""
    return [_ended_task(*pair) for pair in zip(values[::2], values[1::2], strict=True)]


def checked_history(history: int | None) -> int | None:
    """Return how many tasks a history keeps, or raise why that is not allowed."""
    return None if history is None else checked_int(history, "history", 0, MAX_HISTORY)


def _ended_task(number: int, record: bytes) -> EndedTask:
    fields = _fields(record) or _fields(_DAMAGED)
    assert fields is not None
    ended_ms, state, attempts, crashes, task_id, duration_us, name, worker, reason = fields
    kind = _KIND.match(reason) if state == b"dead" else None
    return EndedTask(
        _text(task_id),
        _text(name),
        state.decode(),  # type: ignore[arg-type]
        _text(kind[0] if kind else state),
        from_epoch_ms(min(int(ended_ms), MAX_MS - 1)),  # another program may have written it
        int(duration_us) / 1e6 if duration_us else None,
        int(attempts),
        int(crashes),
        _text(worker),
        _text(reason),
        number,
    )


def _fields(record: bytes) -> tuple[bytes, ...] | None:
    """Return the fields of a record without its number; None if another program changed it."""
    before = _BEFORE_ID.match(record)
    if before is None:
        return None
    *facts, size = before.groups()
    id_end = before.end() + int(size)
    between = _BEFORE_NAME.match(record, id_end)
    if between is None:
        return None
    duration_us, size = between.groups()
    name_end = between.end() + int(size)
    worker, _, reason = record[name_end:].partition(b" ")
    task_id, name = record[before.end() : id_end], record[between.end() : name_end]
    return *facts, task_id, duration_us, name, worker, reason


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")
