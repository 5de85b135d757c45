"""Facts about the running task, for the task itself."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import msgspec

from ..core.clock import MAX_MS, from_epoch_ms


class RunningTask(msgspec.Struct, frozen=True, eq=False):
    """The task that is running here.

    Attributes:
        task_id: id of the task. It is the same in every attempt, so it can make effects idempotent.
        task: name of the task.
        queue: the queue it came from.
        attempt: 1 for the first.
        token: number that grows with every claim of the task: a fence for what it writes elsewhere.
            The token of a first claim is the time of the server in microseconds.
        enqueued_ms: when it was enqueued by the producer's clock, in ms since 1970; 0: not known.
        headers: names and values that its producer gave it; see `Call.options`.
        snoozes: how often it has raised `Snooze` before.
        args: its positional arguments, converted to the types of its signature.
        kwargs: its keyword arguments, converted in the same way.
        state: what the lifespan of the worker yielded; empty without a lifespan.
    """

    task_id: str
    task: str
    queue: str
    attempt: int
    token: int
    enqueued_ms: int
    headers: Mapping[str, str] = {}
    snoozes: int = 0
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    state: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        """Return what is no secret: neither the arguments nor the state."""
        names = (
            "task_id",
            "task",
            "queue",
            "attempt",
            "token",
            "enqueued_ms",
            "headers",
            "snoozes",
        )
        return f"RunningTask({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    @property
    def enqueued_at(self) -> datetime | None:
        """Return when it was enqueued, by the producer's clock; None if that is not known."""
        return from_epoch_ms(self.enqueued_ms) if 0 < self.enqueued_ms < MAX_MS else None


_running: ContextVar[RunningTask] = ContextVar("holdfast_running_task")


def current_task() -> RunningTask:
    """Return the task that is running here, in its coroutine or its thread.

    Raises:
        LookupError: no task of a worker is running here.
    """
    try:
        return _running.get()
    except LookupError:
        raise LookupError("current_task() was called outside of a task run by a worker") from None


def enter(task: RunningTask) -> None:
    """Make *task* the one that runs in this context."""
    _running.set(task)
