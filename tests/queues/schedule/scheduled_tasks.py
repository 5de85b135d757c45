"""Tasks for the tests of schedules."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from holdfast import AsyncWorker, TaskRegistry, Worker, current_task

tasks = TaskRegistry()
ran: list[tuple[str, object]] = []
"""Id and argument of each task that ran."""


@tasks.task(queue="reports")
def report(name: object = None) -> None:
    """Note that it ran."""
    ran.append((current_task().task_id, name))


@asynccontextmanager
async def running_async(worker: AsyncWorker) -> AsyncIterator[None]:
    """Run a worker within the block."""
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await asyncio.wait_for(task, 30)


@contextmanager
def running(worker: Worker) -> Iterator[None]:
    """Run a worker within the block."""
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join(30)
        assert not thread.is_alive()
