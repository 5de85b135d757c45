"""Facts about the running task, for the task itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import msgspec

from ..core.clock import MAX_MS, from_epoch_ms
from .events.progress import packed_progress
from .events.task_event import OWN, PROGRESS, packed_event


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
    _report: Callable[[bytes, bytes], None] | None = None

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

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report how far the task has come, as an event with the kind `progress`.

        `TaskHandle.events` and `TaskStatus.progress` have it, and the dashboard shows a bar. The
        call waits for no server; see `emit`.

        Args:
            done: how much is done, in any unit: pages, bytes, percent.
            total: how much there is to do; None: not known.
            message: what the task does now, at most 1,000 bytes.

        Raises:
            TypeError, ValueError: an argument is invalid, such as more done than the total, or NaN.
            RuntimeError: the attempt has ended.
        """
        data = packed_progress(done, total, message)
        if self._report is not None:
            self._report(PROGRESS, data)

    def emit(self, data: Any) -> None:
        """Report an event to those who follow the task with `TaskHandle.events`.

        The worker sends the events of all its tasks together, in order, and before it settles the
        attempt. The server keeps the newest 1,000 events of a task, of at most 1 MiB.

        The call takes microseconds. If the worker has as many events that the server does not have
        yet, then a plain function waits for about a round trip; an async function cannot wait here,
        and loses its oldest events. Readers get a `Gap` for those.

        Args:
            data: any value that JSON can store, of at most 64 KiB.

        Raises:
            TypeError: JSON cannot store *data*.
            PayloadTooLarge: *data* is too large.
            RuntimeError: the attempt has ended.
        """
        packed = packed_event(data)
        if self._report is not None:
            self._report(OWN, packed)


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
