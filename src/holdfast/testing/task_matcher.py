"""`TaskMatcher`: the enqueued task that a test expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from .. import Call, Task, TaskStatus

SHOWN: Final = 10
"""Tasks in the message of a failure."""


@dataclass(frozen=True, slots=True)
class TaskMatcher:
    """The properties that an enqueued task must have.

    Attributes:
        name: of the task.
        args: its positional arguments.
        kwargs: its keyword arguments; None: all arguments match.
        queue: its queue; None: any queue.
        delay: seconds between the enqueue and the due time; 0: no delay; None: any.
        within: seconds by which the delay may differ.
        priority: its priority; None: any.
        task: the task, if its signature is known.
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
            TypeError: there are arguments beside a call, or *task* is not a task.
        """
        if isinstance(task, Call):
            if args or kwargs:
                raise TypeError("a call has its arguments already: pass no others")
            given = {"queue": task.queue, "args": task.args, "kwargs": task.kwargs}
            return cls(task.task, **{**options, **given})
        known = kwargs if args or kwargs else None
        if isinstance(task, str):
            return cls(task, args, known, **options)
        if not isinstance(task, Task):
            raise TypeError(f"expected a task, its name or a call, got {type(task).__name__}")
        options["queue"] = options["queue"] or task.queue
        return cls(task.name, args, known, task=task, **options)

    def matches(self, status: TaskStatus) -> bool:
        """Return whether a task has these properties."""
        return (
            status.task == self.name
            and (self.priority is None or status.priority == self.priority)
            and (self.kwargs is None or self._bound(status.args, status.kwargs) == self._own)
            and (self.delay is None or abs(delay_of(status) - self.delay) <= self.within)
            and (self.delay != 0 or status.due_at is None)
        )

    @property
    def _own(self) -> Any:
        return self._bound(self.args, self.kwargs or {})

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return arguments in one form, positional or not, as JSON represents them."""
        if self.task is not None:
            try:
                bound = self.task.signature.bind(*args, **kwargs)
            except TypeError:  # the arguments of an earlier version of the task
                return None
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        return msgspec.to_builtins((list(args), dict(kwargs)), str_keys=True)

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


def delay_of(status: TaskStatus) -> float:
    """Return the seconds between the enqueue of a task and its due time."""
    if status.due_at is None or status.enqueued_at is None:
        return 0.0
    return (status.due_at - status.enqueued_at).total_seconds()


def listing(found: Mapping[str, Sequence[TaskStatus]]) -> str:
    """Return the tasks of the queues as text, for the message of a failure."""
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
