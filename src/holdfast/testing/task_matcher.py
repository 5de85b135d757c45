"""Describe the task that a test expects, and find it among the enqueued tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

from .. import JSON, Call, Task, TaskStatus

PRIORITIES: Final = ("high", "medium", "low")

SHOWN: Final = 10
"""Largest number of tasks in the message of a failed assertion."""


@dataclass(frozen=True, slots=True)
class TaskMatcher:
    """Holds the properties that an enqueued task must have.

    Attributes:
        name: name of the task.
        args: positional arguments.
        kwargs: keyword arguments. None: any arguments match, and *args* is ignored.
        queue: name of the queue; None: any queue matches.
        delay: seconds between the enqueue and the due time; 0: no delay; None: any delay matches.
        within: seconds by which the delay may differ from `delay`.
        priority: `high`, `medium` or `low`; None: any priority matches.
        task: the task with its signature; None: only its name is known.
    """

    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None
    queue: str | None = None
    delay: float | None = None
    within: float = 5.0
    priority: str | None = None
    task: Task[..., Any] | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        task: Task[..., Any] | Call[Any] | str,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        **options: Any,
    ) -> TaskMatcher:
        """Return the matcher for the arguments of `assert_enqueued`.

        Raises:
            TypeError: there are arguments besides those of a call, the arguments do not fit the
                signature of *task*, or *task* is no task.
            ValueError: *delay*, *within* or *priority* is not possible, so no task could match.
        """
        _check_options(options)
        if isinstance(task, Call):
            if args or kwargs:
                raise TypeError("a call has its arguments already: pass no others")
            sent: tuple[Any, Any] = (task.args, task.kwargs)
            if task.definition is not None:
                sent = task.definition.stored(*sent)
            queue = options["queue"] or task.queue
            given = {"queue": queue, "args": sent[0], "kwargs": sent[1]}
            return cls(task.task, **{**options, **given})
        known = kwargs if args or kwargs else None
        if isinstance(task, str):
            return cls(task, args, known, **options)
        if not isinstance(task, Task):
            raise TypeError(f"expected a task, its name or a call, got {type(task).__name__}")
        if known is not None:
            try:
                task.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"no call of task {task.name!r} has these: {error}") from None
        options["queue"] = options["queue"] or task.queue
        return cls(task.name, args, known, task=task, **options)

    def matches(self, status: TaskStatus) -> bool:
        """Return whether the task of *status* has these properties. Do not compare its queue."""
        return (
            status.task == self.name
            and (self.priority is None or status.priority == self.priority)
            and (self.kwargs is None or same(self._bound(status.args, status.kwargs), self._own))
            and (self.delay is None or abs(delay_of(status) - self.delay) <= self.within)
            and (self.delay != 0 or status.due_at is None)
        )

    @property
    def _own(self) -> Any:
        return self._bound(self.args, self.kwargs or {})

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return arguments in a form that can be compared, as JSON represents them.

        If the signature is known, it does not matter which arguments are positional. Return None
        if the arguments do not fit the signature.
        """
        if self.task is not None:
            try:
                bound = self.task.signature.bind(*args, **kwargs)
            except TypeError:  # An earlier version of the task may have had other parameters.
                return None
            bound.apply_defaults()
            args, kwargs = self.task.stored(bound.args, bound.kwargs)
        return JSON.decode(JSON.encode((list(args), dict(kwargs))))

    def __str__(self) -> str:
        arguments = shown(self.args, self.kwargs) if self.kwargs is not None else "…"
        parts = [f"{self.name}({arguments})"]
        if self.queue is not None:
            parts.append(f"in queue {self.queue!r}")
        if self.delay is not None:
            parts.append(f"delayed by {self.delay:g} s" if self.delay else "without a delay")
        if self.priority is not None:
            parts.append(f"of {self.priority} priority")
        return ", ".join(parts)


def _check_options(options: Mapping[str, Any]) -> None:
    """Raise ValueError for options that no task can have: `refute_enqueued` would always pass."""
    priority, delay, within = options["priority"], options["delay"], options["within"]
    if priority is not None and priority not in PRIORITIES:
        raise ValueError(f"priority must be one of {', '.join(PRIORITIES)}, got {priority!r}")
    if delay is not None and not isfinite(delay):
        raise ValueError(f"delay must be finite, got {delay!r}")
    if not within >= 0:  # NaN included
        raise ValueError(f"within must be 0 seconds or more, got {within!r}")


def same(one: Any, other: Any) -> bool:
    """Return whether two values of JSON are equal. Unlike with `==`, True is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def delay_of(status: TaskStatus) -> float:
    """Return the seconds between the enqueue of a task and its due time."""
    if status.due_at is None or status.enqueued_at is None:
        return 0.0
    return (status.due_at - status.enqueued_at).total_seconds()


def listing(found: Mapping[str, Sequence[TaskStatus]]) -> str:
    """Return the tasks of each queue as text, for the message of a failed assertion."""
    lines = [
        f"  {queue}: {one.task}({shown(one.args, one.kwargs)}), {one.state}"
        for queue, statuses in found.items()
        for one in statuses
    ]
    if not lines:
        return "nothing is enqueued"
    more = [f"  … and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "\n".join(["enqueued are:", *lines[:SHOWN], *more])


def shown(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return arguments as Python source."""
    return ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())])
