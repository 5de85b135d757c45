# Generated from _async/inline_client.py by tools/unasync.py: edit that, then run `make sync`.
"""A client whose tasks run as soon as they are enqueued."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from ... import Call, Holdfast, TaskHandle, TaskRegistry
from ..background_worker import Crew

R = TypeVar("R")

PATIENCE_S: Final = 30.0
"""For one task to end."""


class InlineHoldfast(Holdfast):
    """`enqueue` returns when the task has run: it goes through the server and a worker, as ever.

    A delayed task is stored and waits, as ever. What a task raises is in its handle; one that is to
    be tried again has been tried once. Make one by `inline`.
    """

    _tasks: TaskRegistry

    def inline(self, tasks: TaskRegistry) -> InlineHoldfast:
        """Say what may run; returns itself."""
        self._tasks = tasks
        return self

    def enqueue(self, call: Call[R], *, op_id: str | None = None) -> TaskHandle[R]:
        """Put one task in line, and have it run."""
        handle = super().enqueue(call, op_id=op_id)
        self._run([handle])
        return handle

    def enqueue_many(
        self, calls: Iterable[Call[R]], *, op_id: str | None = None
    ) -> list[TaskHandle[R]]:
        """Put tasks in line, and have them run; together, as many would."""
        handles = super().enqueue_many(calls, op_id=op_id)
        self._run(handles)
        return handles

    def _run(self, handles: list[TaskHandle[Any]]) -> None:
        until = time.monotonic() + PATIENCE_S
        queues = dict.fromkeys([handle.queue for handle in handles], 1)
        if not queues:
            return
        worker = self.worker(self._tasks, queues=queues, grace=PATIENCE_S)
        with Crew(worker) as crew:
            for handle in handles:
                while (handle.status()).state in ("queued", "running"):
                    if time.monotonic() > until:
                        raise AssertionError(
                            f"task {handle.task_id} of queue {handle.queue!r} has not ended within "
                            f"{PATIENCE_S:g} s: is the queue paused?"
                        )
                    crew.breathe()
