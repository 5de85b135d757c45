"""Calls of tasks, and the figures of a queue: frozen values and pure decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar, Unpack

from ..core.checks import checked_int
from ..core.clock import (
    Duration,
    Instant,
    backoff_s,
    from_epoch_ms,
    not_early_ms,
    to_epoch_ms,
    to_ms,
    to_seconds,
)
from ..errors import InvalidName
from .keys import PRIORITIES

R = TypeVar("R")

Priority = Literal["high", "medium", "low"]

MAX_TASK_ID_BYTES: Final = 200
"""Most keys of a queue repeat the id."""

MAX_CAPACITY: Final = 10**12

MAX_DELAY_S: Final = 1e9
"""Seconds that a delay must stay below; a time since 1970 is longer."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a task that raises is tried again, before it is moved to the dead-letter list.

    Attributes:
        attempts: attempts at most, the first one included; at least 1.
        backoff: seconds (or a timedelta) before the second attempt; doubled for each further one.
            The actual wait is random, between half of that and all of it, so that tasks which
            failed together are not all tried again together.
        longest: seconds (or a timedelta) between two attempts at most.
    """

    attempts: int = 5
    backoff: float = 2.0
    longest: float = 3600.0

    def __post_init__(self) -> None:
        checked_int(self.attempts, "attempts", 1)
        for name in ("backoff", "longest"):
            object.__setattr__(self, name, to_seconds(getattr(self, name), name))

    def wait_ms(self, failures: int) -> int | None:
        """Return the milliseconds to wait after so many failures; None if no attempt is left."""
        if failures >= self.attempts:
            return None
        return round(backoff_s(failures, self.backoff, self.longest) * 1000)


class Options(TypedDict, total=False):
    """The options of one call; see `Call.options`."""

    task_id: str | None
    delay: Duration | None
    at: Instant | None
    priority: Priority | None
    expires: Duration | datetime | None


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A task with its arguments, checked against the signature, not yet enqueued.

    Attributes:
        task: the name of the task.
        queue: where it goes.
        priority: `high`, `medium` or `low`.
        args: its positional arguments.
        kwargs: its keyword arguments.
        task_id: its id; None: a unique one is made.
        wait: `0` for at once, `+ms` from now, `@ms` since 1970.
        expires: written like *wait*; `0` for never.
        returns: the type that its result is converted to.
    """

    task: str
    queue: str
    priority: Priority
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    task_id: str | None = None
    wait: str = "0"
    expires: str = "0"
    returns: Any = field(default=Any, repr=False, compare=False)

    def options(self, **options: Unpack[Options]) -> Call[R]:
        """Return the same call with other options.

        Args:
            task_id: names the task. If the queue still has a task of this id, enqueueing changes
                nothing. By default a unique id is made. At most 200 bytes, no blanks or controls.
            delay: seconds (or a timedelta) after which the task may run; less than a billion (30
                years).
            at: instant from which the task may run; not together with *delay*.
            priority: `high`, `medium` or `low`, instead of the task's own.
            expires: seconds from when it is enqueued (or a timedelta), or an aware datetime. From
                then on no attempt starts any more; the task is dead as `expired`.

        Raises:
            ValueError: an option is out of its range, both *delay* and *at* are given, or the task
                expires before it may run.
            InvalidName: the *task_id* is not allowed.
        """
        unknown = options.keys() - Options.__optional_keys__
        if unknown:
            known = ", ".join(sorted(Options.__optional_keys__))
            raise TypeError(f"unknown options: {', '.join(sorted(unknown))}; there are {known}")
        changes: dict[str, Any] = {}
        if (task_id := options.get("task_id")) is not None:
            changes["task_id"] = checked_task_id(task_id)
        if (priority := options.get("priority")) is not None:
            changes["priority"] = checked_priority(priority)
        delay, at = options.get("delay"), options.get("at")
        if delay is not None and at is not None:
            raise ValueError("delay and at exclude each other")
        if delay is not None:
            _check_from_now(to_seconds(delay, "delay"), "delay", "an instant goes to at=")
            delay_ms = not_early_ms(to_seconds(delay, "delay"))
            changes["wait"] = f"+{delay_ms}" if delay_ms else "0"
        if at is not None:
            changes["wait"] = f"@{to_epoch_ms(at, 'at')}"
        if (expires := options.get("expires")) is not None:
            changes["expires"] = _expiry(expires)
        call = replace(self, **changes)
        if call.wait[0] == call.expires[0] != "0" and int(call.expires[1:]) <= int(call.wait[1:]):
            raise ValueError("the task would expire before it may run")
        return call


@dataclass(frozen=True, slots=True)
class QueueStats:
    """How many tasks of a queue are in which state.

    Attributes:
        ready: tasks that may run now.
        delayed: tasks that wait for their time, or for their next attempt.
        running: tasks that a worker holds.
        dead: given up, with a reason; `replay` queues them again.
        waiting_workers: processes with a worker that waits for a task.
        paused: whether the queue is paused.
        capacity: how many tasks may wait (ready and delayed); None for no limit.
        oldest_at: since when the oldest ready task waits. It is the oldest of the first tasks of
            the three priorities: enqueued by its producer's clock, or due by the server's clock.
            None: no task is ready, or the time is not known.
    """

    ready: int
    delayed: int
    running: int
    dead: int
    waiting_workers: int
    paused: bool = False
    capacity: int | None = None
    oldest_at: datetime | None = None

    def waited(self, now: datetime) -> float:
        """Return for how many seconds the oldest ready task has waited at *now*; 0 without one."""
        return max(0.0, (now - self.oldest_at).total_seconds()) if self.oldest_at else 0.0


@dataclass(frozen=True, slots=True)
class Throughput:
    """How many tasks of a queue ended in one minute.

    Attributes:
        start: when the minute began, by the server's clock.
        done: tasks that were completed.
        retried: attempts that failed and are tried again.
        dead: tasks that were moved to the dead-letter list.
    """

    start: datetime
    done: int = 0
    retried: int = 0
    dead: int = 0


def throughput_by_minute(minute: int, values: Sequence[bytes], minutes: int) -> list[Throughput]:
    """Return the last *minutes* up to *minute*, the oldest first.

    Args:
        minute: minutes since 1970.
        values: of `throughput.lua`.
        minutes: how many.
    """
    known = {}
    for value in values:
        at, done, retried, dead = map(int, value.split(b":"))
        if 0 <= minute - at < minutes:  # others are too old, or another program wrote them
            known[at] = Throughput(from_epoch_ms(at * 60_000), done, retried, dead)
    wanted = range(minute - minutes + 1, minute + 1)
    return [known.get(at) or Throughput(from_epoch_ms(at * 60_000)) for at in wanted]


def checked_call(call: Any) -> Call[Any]:
    """Return *call*, or raise an error that says what to write: `.call` is easily forgotten."""
    if isinstance(call, Call):
        return call
    name = getattr(call, "name", "task")
    raise TypeError(
        f"expected a call such as {name}.call(…), got {type(call).__name__}; "
        "a task called directly runs here and now, and several calls go to enqueue_many"
    )


def checked_calls(calls: Iterable[Call[R]]) -> list[Call[R]]:
    """Return *calls* as a list, each checked."""
    if isinstance(calls, Call):
        raise TypeError("enqueue_many takes several calls; for a single one use enqueue")
    return [checked_call(call) for call in calls]


def _expiry(expires: Duration | datetime) -> str:
    """Return *expires* in the form of `Call.expires`."""
    if isinstance(expires, datetime):
        return f"@{max(1, to_epoch_ms(expires, 'expires'))}"
    expires_ms = to_ms(expires, "expires")
    _check_from_now(expires_ms / 1000, "expires", "an instant goes there as an aware datetime")
    return f"+{expires_ms}"


def _check_from_now(seconds: float, what: str, hint: str) -> None:
    """Refuse an instant where a number of seconds from now is meant."""
    if seconds >= MAX_DELAY_S:
        raise ValueError(f"{what} counts from now, and {seconds:,.0f} s are over 30 years; {hint}")


def checked_task_id(task_id: str) -> str:
    """Return *task_id*, or raise why it is not allowed."""
    if not isinstance(task_id, str):
        raise TypeError(f"a task_id must be a str, got {type(task_id).__name__}")
    try:
        size = len(task_id.encode())
    except UnicodeEncodeError as error:
        raise InvalidName(task_id, f"not valid Unicode at position {error.start}") from None
    if not 1 <= size <= MAX_TASK_ID_BYTES:
        raise InvalidName(task_id, f"a task_id takes 1 to {MAX_TASK_ID_BYTES} bytes")
    if not task_id.isprintable() or " " in task_id:
        raise InvalidName(task_id, "a task_id holds no blanks and no control characters")
    return task_id


def checked_capacity(capacity: int | None) -> int | None:
    """Return *capacity*, or raise why it is not allowed."""
    return None if capacity is None else checked_int(capacity, "capacity", 1, MAX_CAPACITY)


def checked_priority(priority: str) -> Priority:
    """Return *priority*, or raise why it is not allowed."""
    if priority not in PRIORITIES:
        raise ValueError(f"priority must be one of {', '.join(PRIORITIES)}, got {priority!r}")
    return priority  # type: ignore[return-value]
