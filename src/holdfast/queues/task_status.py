"""The status of a task, parsed from the replies of the scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

from ..core.clock import MAX_MS, from_epoch_ms
from ..core.codec import JSON, check_size, decoded
from ..core.stored import decoding
from ..errors import DecodeError, TaskFailed
from .call import Priority
from .envelope import Envelope
from .events.progress import Progress, latest_progress
from .keys import PRIORITIES
from .per_key import key_in_limit
from .pydantic_types import PydanticType
from .unique import key_in

R = TypeVar("R")

State = Literal["queued", "delayed", "running", "done", "dead", "cancelled", "unknown"]

WAITING_STATES: Final = ("queued", "limited", "delayed", "running")
"""States in the replies of scripts in which a task may still get a result."""

LISTED_STATES: Final = ("queued", "delayed", "running", "dead")
"""States of tasks that can be listed, because they are still in the queue."""


@dataclass(frozen=True, slots=True, repr=False)
class TaskStatus:
    """The status of a task at the moment of the call.

    Attributes:
        task_id: id of the task.
        state: `queued` (may run now), `delayed` (waits for its time or its next attempt),
            `running`, `done`, `dead`, `cancelled`; or `unknown`, if it was never enqueued or its
            status is not kept any more.
        task: name of the task; empty if it is done or cancelled, or cannot be decoded.
        priority: `high`, `medium` or `low`; None if it is done or cancelled.
        args: positional arguments; empty if it is done or cancelled.
        kwargs: keyword arguments; empty if it is done or cancelled.
        headers: its headers; empty if it is done or cancelled.
        unique_key: the key of a unique task, as a digest; empty if it is done or cancelled.
        limit_key: the name and the key of its limit (see `PerKey`); empty if it has none, or is
            done or cancelled.
        limited: whether it is queued, and waits until its limit key has room.
        progress: the latest progress that it has reported, in any attempt; None if there is none,
            or if it is done or cancelled.
        suspended: `sleeping` or `waiting`, if it was suspended by `sleep` or `wait_for`; its state
            is `delayed` until it wakes. Otherwise empty.
        waits_for: the signal that it waits for; otherwise empty.
        attempts: how many attempts were started.
        crashes: attempts during which the worker, or its child process, died.
        snoozes: how often it asked to run later; these runs are no attempts.
        reason: why it is dead, or the last error; the first word names the kind of reason.
        worker: name of the worker that runs it.
        enqueued_at: when it was enqueued, by its producer's clock.
        due_at: from when on it may run, by the server's clock; None if it had no delay.
        ended_at: when it was done, dead or cancelled, by the server's clock.
    """

    task_id: str
    state: State
    task: str = ""
    priority: Priority | None = None
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 0
    crashes: int = 0
    snoozes: int = 0
    reason: str = ""
    worker: str = ""
    enqueued_at: datetime | None = None
    due_at: datetime | None = None
    ended_at: datetime | None = None
    unique_key: str = ""
    limit_key: str = ""
    limited: bool = False
    progress: Progress | None = None
    suspended: Literal["", "sleeping", "waiting"] = ""
    waits_for: str = ""

    def __repr__(self) -> str:
        """Return the fields that are not empty: most are empty in most states."""
        shown = (
            f"{each.name}={value!r}"
            for each in fields(self)
            if (value := getattr(self, each.name)) or each.name == "task_id"
        )
        return f"TaskStatus({', '.join(shown)})"


def task_status(task_id: str, reply: Sequence[Any], priority: int = 0) -> TaskStatus:
    """Return the status of a task.

    Args:
        task_id: id of the task.
        reply: state, instant, record, body and progress, from `find_task.lua`.
        priority: 1 to 3, if the key in which the task was found shows it; 0: the record or the
            envelope has it.

    Raises:
        DecodeError: another program changed the record.
    """
    with decoding(f"the record of task {task_id!r}"):
        return _status(task_id, reply, priority)


def _status(task_id: str, reply: Sequence[Any], priority: int) -> TaskStatus:
    state, instant, record, body, progress = reply
    match state:
        case b"unknown":
            return TaskStatus(task_id, "unknown")
        case b"ended":
            ended, attempts, ended_ms, payload = body.split(b":", 3)
            return TaskStatus(
                task_id,
                ended.decode(),
                attempts=int(attempts),
                reason=payload[1:].decode() if payload[:1] == b"!" else "",
                ended_at=_instant(ended_ms),
            )
    status = _unended(task_id, state.decode(), instant, record, body, priority)
    return replace(status, progress=latest_progress(progress)) if progress else status


def listed(reply: Sequence[Any]) -> list[TaskStatus]:
    """Return the tasks in the reply of `tasks.lua`. If a record is damaged, the reason says so."""
    found = []
    for i in range(0, len(reply), 7):
        task_id, state = reply[i].decode(errors="backslashreplace"), reply[i + 1]
        try:
            status = task_status(task_id, (state, *reply[i + 3 : i + 7]), reply[i + 2])
        except DecodeError as error:
            status = TaskStatus(task_id, state.decode(), reason=str(error))
        found.append(status)
    return found


def result_of(task_id: str, queue: str, reply: Sequence[Any], into: Any) -> Any:
    """Return the result of a task that has ended.

    Args:
        task_id: id of the task.
        queue: the name of its queue, for the errors.
        reply: as for `task_status`.
        into: the type that the result is converted to.

    Raises:
        TaskFailed: it has no result, and will not get one.
        DecodeError: the result is not of that type.
    """
    status = task_status(task_id, reply)
    if status.state == "done" and not status.reason:
        payload: bytes = reply[3].split(b":", 3)[3]
        what, data = f"the result of task {task_id!r}", payload.removeprefix(b"=")
        if not isinstance(into, PydanticType):
            return decoded(JSON, data, into, what)
        check_size(data, what)
        try:
            return into.decoded(data)
        except ValueError as error:
            raise DecodeError(what, str(error)) from None
    reason = status.reason or _REASONS.get(status.state, "no reason is known")
    raise TaskFailed(task_id, queue, status.state, reason)


_REASONS: Final = {
    "cancelled": "it will not run, or not to its end",
    "unknown": "it was never enqueued, was purged, or its result was kept long enough",
}


def _unended(
    task_id: str, state: Any, instant: bytes, record: bytes, body: bytes, priority: int
) -> TaskStatus:
    limited = state == "limited"
    state = "queued" if limited else state
    _, attempts, crashes, stored, _, _, snoozes, note = (record.split(b":", 7) + [b""] * 8)[:8]
    at = _instant(instant)
    text = note.decode(errors="replace")
    suspended, step = _suspended(text) if state in ("queued", "delayed") else ("", "")
    try:
        envelope = Envelope.unpacked(body, task_id)
    except DecodeError:
        envelope = Envelope(v=0, task="")
    unique_key = key_in(envelope.unique)
    if unique_key and state != "running":
        stored = b""  # a later call may have changed the priority since; its envelope is newer
    known = PRIORITIES[(priority or int(stored or 0)) - 1] if priority or stored else None
    return TaskStatus(
        task_id,
        state,
        task=envelope.task,
        priority=known or (envelope.priority if envelope.priority in PRIORITIES else None),  # type: ignore[arg-type]
        args=tuple(envelope.args),
        kwargs=envelope.kwargs,
        headers=envelope.headers,
        unique_key=unique_key,
        limit_key=key_in_limit(envelope.limit),
        limited=limited,
        suspended=suspended,
        waits_for=step.partition("#")[0] if suspended == "waiting" else "",
        attempts=int(attempts or 0),
        crashes=int(crashes or 0),
        snoozes=int(snoozes or 0),
        reason="" if state == "running" else text,
        worker=text.partition(" ")[2].partition(" ")[0] if state == "running" else "",
        enqueued_at=_instant(envelope.enqueued_ms),
        due_at=at if state in ("queued", "delayed") else None,
        ended_at=at if state == "dead" else None,
    )


def _suspended(note: str) -> tuple[Literal["", "sleeping", "waiting"], str]:
    """Return how the note of a task says that it is suspended, and the name of the step."""
    kind, _, step = note.partition(": ")
    match kind:
        case "sleeping" | "waiting":
            return kind, step
    return "", ""


def _instant(epoch_ms: bytes | int | str) -> datetime | None:
    """Return the instant of a score; None for 0, and for a value that is out of range."""
    ms = float(epoch_ms)
    return from_epoch_ms(int(ms)) if 0 < ms < MAX_MS else None
