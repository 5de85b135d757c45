"""What a task is, to its producer and to its operator: frozen values and pure decisions."""

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
"""Ids are repeated in most keys of a queue."""

MAX_CAPACITY: Final = 10**12

FARTHEST_S: Final = 1e9
"""A delay is shorter than that; seconds since 1970 are more."""


@dataclass(frozen=True, slots=True)
class Retry:
    """What happens when a task raises: it runs again, later and later, and ends among the dead.

    Attributes:
        attempts: how often it runs at most, the first time included; at least 1.
        backoff: seconds (or a timedelta) before the second attempt; doubled for each further one.
            The actual wait is drawn from its upper half, so that what failed together does not
            come back together.
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
        """Milliseconds to wait after this many failures; None when the task is given up."""
        if failures >= self.attempts:
            return None
        return round(backoff_s(failures, self.backoff, self.longest) * 1000)


class Options(TypedDict, total=False):
    """What one call may be given; see `Call.options`."""

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
        task_id: its id, None for one of its own.
        wait: `0` for at once, `+ms` from now, `@ms` since 1970.
        expires: likewise; `0` for never.
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
        """The same call, enqueued differently.

        Args:
            task_id: names the task; enqueueing a name that the queue still has changes nothing.
                By default a unique one is made. At most 200 bytes, no blanks or controls.
            delay: the task runs no earlier than this many seconds after it was enqueued; less than
                a billion (30 years).
            at: the task runs no earlier than this instant; not together with *delay*.
            priority: `high`, `medium` or `low`, instead of the task's own.
            expires: seconds from when it is enqueued (or a timedelta), or an aware datetime: from
                then on the task is not begun any more, nor tried again; it is dead as `expired`.

        Raises:
            ValueError: an option out of its range, both *delay* and *at*, or a task that expires
                before it may run.
            InvalidName: a *task_id* that cannot be one.
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
    """How many tasks of a queue are where.

    Attributes:
        ready: may run now.
        delayed: wait for their time, or for their next attempt.
        running: held by a worker.
        dead: given up, with a reason; `replay` puts them in line again.
        waiting_workers: processes that wait for a task.
        paused: whether nothing is claimed until `resume`.
        capacity: how many tasks may wait (ready and delayed); None for no limit.
        oldest_at: since when the longest waiting of those first in line waits: enqueued by the
            clock of its producer, or due by the server's. None: none, or it does not say.
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
        """For how many seconds the longest waiting task waits at *now*; 0 if none does."""
        return max(0.0, (now - self.oldest_at).total_seconds()) if self.oldest_at else 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How many tasks of a queue ended in one minute.

    Attributes:
        start: when the minute began, by the server's clock.
        done: tasks that were done.
        retried: attempts that failed, and whose task is tried again.
        dead: tasks that were given up.
    """

    start: datetime
    done: int = 0
    retried: int = 0
    dead: int = 0


def paces(minute: int, values: Sequence[bytes], minutes: int) -> list[Pace]:
    """The last *minutes* up to *minute*, the oldest first, in what `pace.lua` answers."""
    known = {}
    for value in values:
        at, done, retried, dead = map(int, value.split(b":"))
        if 0 <= minute - at < minutes:  # others are left over, or not of Holdfast
            known[at] = Pace(from_epoch_ms(at * 60_000), done, retried, dead)
    wanted = range(minute - minutes + 1, minute + 1)
    return [known.get(at) or Pace(from_epoch_ms(at * 60_000)) for at in wanted]


def checked_call(call: Any) -> Call[Any]:
    """*call*, or what to write instead: everybody forgets `.call` once."""
    if isinstance(call, Call):
        return call
    name = getattr(call, "name", "task")
    raise TypeError(
        f"expected a call such as {name}.call(…), got {type(call).__name__}; "
        "a task called directly runs here and now, and several calls go to enqueue_many"
    )


def checked_calls(calls: Iterable[Call[R]]) -> list[Call[R]]:
    """All of *calls*, each checked."""
    if isinstance(calls, Call):
        raise TypeError("enqueue_many takes several calls; for a single one use enqueue")
    return [checked_call(call) for call in calls]


def _expiry(expires: Duration | datetime) -> str:
    """*expires* as `Call.expires`."""
    if isinstance(expires, datetime):
        return f"@{max(1, to_epoch_ms(expires, 'expires'))}"
    expires_ms = to_ms(expires, "expires")
    _check_from_now(expires_ms / 1000, "expires", "an instant goes there as an aware datetime")
    return f"+{expires_ms}"


def _check_from_now(seconds: float, what: str, hint: str) -> None:
    """Refuse an instant where a time from now is meant: everybody adds `time.time()` once."""
    if seconds >= FARTHEST_S:
        raise ValueError(f"{what} counts from now, and {seconds:,.0f} s are over 30 years; {hint}")


def checked_task_id(task_id: str) -> str:
    """*task_id*, or why it cannot be one: it is stored and shown as it is."""
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
    """*capacity*, or why it is none."""
    return None if capacity is None else checked_int(capacity, "capacity", 1, MAX_CAPACITY)


def checked_priority(priority: str) -> Priority:
    """*priority*, or why it is none."""
    if priority not in PRIORITIES:
        raise ValueError(f"priority must be one of {', '.join(PRIORITIES)}, got {priority!r}")
    return priority  # type: ignore[return-value]
