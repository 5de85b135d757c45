"""Which of the tasks in line a test means, and how to say that there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from .. import Call, Task, TaskStatus

SHOWN: Final = 10
"""Tasks that a failure lists."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a task in line has to be.

    Attributes:
        name: of the task.
        args: its positional arguments, and
        kwargs: those by name; None with no positional ones: any arguments will do.
        queue: where it waits; None: in any queue.
        delay: seconds between enqueuing and its time; 0 for none; None: any.
        within: by so many seconds the delay may differ.
        priority: None: any.
        task: where its signature is known.
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
    ) -> Wanted:
        """What the arguments of `assert_enqueued` mean.

        Raises:
            TypeError: a call together with arguments, or something that is no task.
        """
        if isinstance(task, Call):
            if args or kwargs:
                raise TypeError("a call has its arguments already: give none beside it")
            given = {"queue": task.queue, "args": task.args, "kwargs": task.kwargs}
            return cls(task.task, **{**options, **given})
        known = kwargs if args or kwargs else None
        if isinstance(task, str):
            return cls(task, args, known, **options)
        if not isinstance(task, Task):
            raise TypeError(f"expected a task, its name or a call, got {type(task).__name__}")
        options["queue"] = options["queue"] or task.queue
        return cls(task.name, args, known, task=task, **options)

    def fits(self, status: TaskStatus) -> bool:
        """Whether that task is one."""
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
        """Arguments in one form, however they were given, as JSON has them."""
        if self.task is not None:
            try:
                bound = self.task.signature.bind(*args, **kwargs)
            except TypeError:  # of an earlier version of the task
                return None
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        return msgspec.to_builtins((list(args), dict(kwargs)), str_keys=True)

    def __str__(self) -> str:
        arguments = shown(self.args, self.kwargs) if self.kwargs is not None else "…"
        said = [f"{self.name}({arguments})"]
        if self.queue is not None:
            said.append(f"in queue {self.queue!r}")
        if self.delay is not None:
            said.append(f"delayed by {self.delay:g} s" if self.delay else "without a delay")
        if self.priority is not None:
            said.append(f"of {self.priority} priority")
        return ", ".join(said)


def delay_of(status: TaskStatus) -> float:
    """Seconds between enqueuing a task and its time."""
    if status.due_at is None or status.enqueued_at is None:
        return 0.0
    return (status.due_at - status.enqueued_at).total_seconds()


def listing(found: Mapping[str, Sequence[TaskStatus]]) -> str:
    """What the queues hold, for the message of a failure."""
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
    """Arguments as they are written."""
    return ", ".join([*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())])
