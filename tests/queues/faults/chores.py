"""Tasks that put on record that they ran: `tasks`.

The first argument of each is its key in the history. An execution is one operation "complete",
with the task's id, when it was enqueued and the token of the claim: "ok" when it came to its end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faults.history import Recorder
from holdfast import Retry, TaskRegistry, current_task

QUEUE = "chores"

tasks = TaskRegistry()
recorders: list[Recorder] = []  # one, once the process knows where to write
POLL_S = 0.02


class NotYet(Exception):
    """A task that is meant to fail did."""


@contextmanager
def execution(key: str) -> Iterator[None]:
    """Record the block as what the present task does."""
    me = current_task()
    about = {"task_id": me.task_id, "token": me.token, "enqueued": str(me.enqueued_at)}
    with recorders[0].operation("complete", key=key, **about):
        yield


@tasks.task(queue=QUEUE)
def plain(key: str, seconds: float = 0.0) -> None:
    """Run in a thread."""
    with execution(key):
        time.sleep(seconds)


@tasks.task(queue=QUEUE)
async def on_the_loop(key: str, seconds: float = 0.0) -> None:
    """Run as a coroutine."""
    with execution(key):
        await asyncio.sleep(seconds)


@tasks.task(queue=QUEUE, priority="high", retry=Retry(attempts=3, backoff=0.05))
def fails_at_first(key: str, failures: int) -> None:
    """Raise in the first attempts, fewer than it has."""
    with execution(key):
        if current_task().attempt <= failures:
            raise NotYet


@tasks.task(queue=QUEUE, priority="low", retry=Retry(attempts=2, backoff=0.05))
async def hopeless(key: str) -> None:
    """Raise whenever it runs."""
    with execution(key):
        raise NotYet


@tasks.task(queue=QUEUE)
def deadly(key: str, seconds: float = 0.0) -> None:
    """End the process that runs it, as the OOM killer would."""
    with execution(key):
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGKILL)


@tasks.task(queue=QUEUE)
def waits(key: str, gate: str) -> None:
    """Go on when there is a file at *gate*."""
    with execution(key):
        while not Path(gate).exists():
            time.sleep(POLL_S)


@tasks.task(queue=QUEUE)
async def waits_on_the_loop(key: str, gate: str) -> None:
    """Likewise, as a coroutine."""
    with execution(key):
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 (another process makes the file)
            await asyncio.sleep(POLL_S)
