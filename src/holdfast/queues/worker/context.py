"""What a running task may know about itself."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RunningTask:
    """The task that is running here.

    Attributes:
        task_id: its id; the same in every attempt, so it makes side effects idempotent.
        task: its name.
        queue: the queue it came from.
        attempt: 1 for the first.
        token: grows with every claim of the task: a fence for what it writes elsewhere.
        enqueued_at: when its producer says it was enqueued; None when it did not.
    """

    task_id: str
    task: str
    queue: str
    attempt: int
    token: int
    enqueued_at: datetime | None


_running: ContextVar[RunningTask] = ContextVar("holdfast_running_task")


def current_task() -> RunningTask:
    """The task that is running here, in its coroutine or its thread.

    Raises:
        LookupError: no task of a worker is running here.
    """
    try:
        return _running.get()
    except LookupError:
        raise LookupError("current_task() was called outside of a task run by a worker") from None


def enter(task: RunningTask) -> None:
    """Say what runs in this context from now on."""
    _running.set(task)
