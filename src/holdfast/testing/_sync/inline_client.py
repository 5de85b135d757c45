# Generated from _async/inline_client.py by tools/unasync.py: edit that, then run `make sync`.
"""`InlineHoldfast`: a client that runs each task when it enqueues the task."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from ... import Call, Holdfast, TaskHandle, TaskRegistry
from ..background_worker import BackgroundWorker

R = TypeVar("R")

TIMEOUT_S: Final = 30.0
"""Seconds until all tasks of one call have ended."""


class InlineHoldfast(Holdfast):
    """A client that returns from `enqueue` when a worker has run the task once.

    The task goes through the server, as usual. A delayed task is stored and waits. An exception of
    the task is in its handle; a task that will be retried has run once. Call `inline` first.
    """

    _tasks: TaskRegistry

    def inline(self, tasks: TaskRegistry) -> InlineHoldfast:
        """Set the tasks that can run. Return this client."""
        self._tasks = tasks
        return self

    def enqueue(self, call: Call[R], *, op_id: str | None = None) -> TaskHandle[R]:
        """Enqueue one task, and run it."""
        handle = super().enqueue(call, op_id=op_id)
        self._run([handle])
        return handle

    def enqueue_many(
        self, calls: Iterable[Call[R]], *, op_id: str | None = None
    ) -> list[TaskHandle[R]]:
        """Enqueue tasks, and run them concurrently."""
        handles = super().enqueue_many(calls, op_id=op_id)
        self._run(handles)
        return handles

    def _run(self, handles: list[TaskHandle[Any]]) -> None:
        until = time.monotonic() + TIMEOUT_S
        queues = dict.fromkeys([handle.queue for handle in handles], 1)
        if not queues:
            return
        worker = self.worker(self._tasks, queues=queues, grace=TIMEOUT_S)
        with BackgroundWorker(worker) as background:
            for handle in handles:
                while (handle.status()).state in ("queued", "running"):
                    if time.monotonic() > until:
                        raise AssertionError(
                            f"task {handle.task_id} of queue {handle.queue!r} has not ended within "
                            f"{TIMEOUT_S:g} s: is the queue paused?"
                        )
                    background.yield_briefly()
