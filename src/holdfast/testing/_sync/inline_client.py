# Generated from _async/inline_client.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide a client that runs each task when the task is enqueued."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any, Final, TypeVar

from ... import Call, Holdfast, TaskHandle, TaskRegistry
from ..background_worker import BackgroundWorker

R = TypeVar("R")

TIMEOUT_S: Final = 30.0
"""Seconds within which all tasks of one call must end."""


class InlineHoldfast(Holdfast):
    """A client with an `enqueue` that returns after a worker has run the task once.

    The task is stored on the server and claimed by a worker, as in production. A delayed task stays
    on the server. If the task raises, `handle.status().reason` has the error; a retry does not
    run.

    Call `inline` before the first `enqueue`.
    """

    _tasks: TaskRegistry

    def inline(
        self, tasks: TaskRegistry, *, state: Mapping[str, Any] | None = None
    ) -> InlineHoldfast:
        """Set the tasks that can run. Return this client.

        Args:
            tasks: the tasks.
            state: the value of `current_task().state`, in place of the lifespan of *tasks*. Without
                *state*, the lifespan runs in each call of `enqueue` and `enqueue_many`.
        """
        self._tasks = tasks if state is None else tasks.with_lifespan(lambda _: nullcontext(state))
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
