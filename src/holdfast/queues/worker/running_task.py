"""What a running task may know about itself."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from ...core.clock import MAX_MS, from_epoch_ms


@dataclass(frozen=True, slots=True)
class RunningTask:
    """The task that is running here.

    Attributes:
        task_id: its id; the same in every attempt, so it makes side effects idempotent.
        task: its name.
        queue: the queue it came from.
        attempt: 1 for the first.
        token: grows with every claim of the task: a fence for what it writes elsewhere. That of a
            first claim is the server's clock in microseconds.
        enqueued_ms: when its producer says it was enqueued, in ms since 1970; 0 when it did not.
    """

    task_id: str
    task: str
    queue: str
    attempt: int
    token: int
    enqueued_ms: int

    @property
    def enqueued_at(self) -> datetime | None:
        """When its producer says it was enqueued; None when it did not, or says nonsense."""
        return from_epoch_ms(self.enqueued_ms) if 0 < self.enqueued_ms < MAX_MS else None


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
