"""Tasks that put on record that they ran: `tasks`.

The first argument of each is its key in the history. An execution is one operation "complete",
with the task's id, when it was enqueued and the token of the claim: "ok" when it came to its end,
"unknown" without an end when its process was killed, with one when it was stopped. What came to its
end returns its token, so the result shows which claim was the one that counted.
Each reports two events with its token: that it began, and that it has ended.
"""

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
STEPS = ("reserve", "charge", "ship")
POLL_S = 0.02
OVERDUE_S = 0.3  # timeout of the tasks that have one
HUNG_S = 1.0  # of those that must have begun by then, on a slow machine too


class NotYet(Exception):
    """A task that is meant to fail did."""


@contextmanager
def execution(key: str) -> Iterator[int]:
    """Record the block as what the present task does; yields the token of its claim."""
    me = current_task()
    about = {"task_id": me.task_id, "token": me.token, "enqueued": str(me.enqueued_at)}
    with recorders[0].operation("complete", key=key, **about):
        me.emit([me.token, "began"])
        yield me.token
        me.emit([me.token, "ended"])


@tasks.task(queue=QUEUE)
def plain(key: str, seconds: float = 0.0) -> int:
    """Run in a thread."""
    with execution(key) as token:
        time.sleep(seconds)
    return token


@tasks.task(queue=QUEUE)
async def on_the_loop(key: str, seconds: float = 0.0) -> int:
    """Run as a coroutine."""
    with execution(key) as token:
        await asyncio.sleep(seconds)
    return token


@tasks.task(queue=QUEUE, ack="now", name="told_at_once")  # the former version has this name
async def acks_at_once(key: str, seconds: float = 0.0) -> int:
    """Run as a coroutine, and let the server know of the end by itself."""
    with execution(key) as token:
        await asyncio.sleep(seconds)
    return token


@tasks.task(queue=QUEUE, ack="now")
def acks_at_once_in_a_thread(key: str, seconds: float = 0.0) -> int:
    """Do the same in a thread."""
    with execution(key) as token:
        time.sleep(seconds)
    return token


async def _step(key: str, seconds: float) -> None:
    with recorders[0].operation("step", key=key, token=current_task().token):
        await asyncio.sleep(seconds)


def _plain_step(key: str, seconds: float) -> None:
    with recorders[0].operation("step", key=key, token=current_task().token):
        time.sleep(seconds)


def _passed(key: str) -> None:
    """Record that a step has returned, so its result is stored."""
    with recorders[0].operation("passed", key=key, token=current_task().token):
        pass


@tasks.task(queue=QUEUE)
async def in_steps(key: str, seconds: float = 0.0) -> int:
    """Run three steps, and sleep once."""
    with execution(key) as token:
        for name in STEPS:
            await current_task().step(name, _step, f"{key}/{name}", seconds / len(STEPS))
            _passed(f"{key}/{name}")
            if name == STEPS[0]:
                await current_task().sleep(POLL_S)
    return token


@tasks.task(queue=QUEUE)
def in_steps_by_a_thread(key: str, seconds: float = 0.0) -> int:
    """Do the same in a thread."""
    with execution(key) as token:
        for name in STEPS:
            current_task().step(name, _plain_step, f"{key}/{name}", seconds / len(STEPS))
            _passed(f"{key}/{name}")
            if name == STEPS[0]:
                current_task().sleep(POLL_S)
    return token


@tasks.task(queue=QUEUE, priority="high", retry=Retry(attempts=3, backoff=0.05))
def fails_at_first(key: str, failures: int) -> int:
    """Raise in the first attempts, fewer than it has."""
    with execution(key) as token:
        if current_task().attempt <= failures:
            raise NotYet
    return token


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
def deadly_in_turn(key: str, gate: str) -> None:
    """Do the same; in its n-th attempt end only when there is a file at *gate* followed by `.n`."""
    with execution(key):
        _wait_for(Path(f"{gate}.{current_task().attempt}"))
        os.kill(os.getpid(), signal.SIGKILL)


@tasks.task(queue=QUEUE)
def waits(key: str, gate: str) -> int:
    """Go on when there is a file at *gate*; made of short steps, so it can be interrupted."""
    with execution(key) as token:
        _wait_for(Path(gate))
    return token


@tasks.task(queue=QUEUE)
async def waits_on_the_loop(key: str, gate: str) -> int:
    """Do the same as a coroutine."""
    with execution(key) as token:
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 (another process makes the file)
            await asyncio.sleep(POLL_S)
    return token


@tasks.task(queue=QUEUE, ack="now")
async def waits_and_acks(key: str, gate: str) -> int:
    """Do the same, and the server knows of the end by itself."""
    with execution(key) as token:
        while not Path(gate).exists():  # noqa: ASYNC110, ASYNC240 (another process makes the file)
            await asyncio.sleep(POLL_S)
    return token


@tasks.task(queue=QUEUE)
async def blocks(key: str, gate: str) -> int:
    """Keep the event loop from turning until there is a file at *gate*."""
    with execution(key) as token:
        while not os.access(gate, os.F_OK):  # in this very frame
            time.sleep(POLL_S)  # noqa: ASYNC251 (as it must not)
    return token


@tasks.task(queue=QUEUE, timeout=OVERDUE_S, retry=Retry(attempts=2, backoff=0.05))
def endless(key: str) -> None:
    """Run without end in Python, until it is interrupted."""
    with execution(key):
        while True:
            time.sleep(0.001)


@tasks.task(queue=QUEUE, timeout=OVERDUE_S, retry=Retry(attempts=2, backoff=0.05))
async def endless_on_the_loop(key: str) -> None:
    """Do the same as a coroutine."""
    with execution(key):
        await asyncio.Event().wait()


@tasks.task(queue=QUEUE, timeout=HUNG_S, retry=Retry(attempts=1))
def stuck(key: str, pipe: str) -> None:
    """Hang in C, where no interruption comes through, until a process opens *pipe* to write."""
    with execution(key):
        os.close(os.open(pipe, os.O_RDONLY))


def _wait_for(gate: Path) -> None:
    while not gate.exists():
        time.sleep(POLL_S)
