"""Facts about the running task, for the task itself."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from ...core.clock import MAX_MS, from_epoch_ms


@dataclass(frozen=True, slots=True)
class RunningTask:
    """The task that is running here.

    Attributes:
        task_id: its id. It is the same in every attempt, so it can make side effects idempotent.
        task: its name.
        queue: the queue it came from.
        attempt: 1 for the first.
        token: number that grows with every claim of the task: a fence for what it writes elsewhere.
            The token of a first claim is the time of the server in microseconds.
        enqueued_ms: when it was enqueued by the producer's clock, in ms since 1970; 0: not known.
    """

    task_id: str
    task: str
    queue: str
    attempt: int
    token: int
    enqueued_ms: int

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
