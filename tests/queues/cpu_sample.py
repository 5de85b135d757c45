"""CPU-bound tasks, which child processes of a worker import: what they do is noted in files."""

import asyncio
import contextlib
import faulthandler
import logging
import os
import signal
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

from holdfast import Retry, TaskRegistry, current_task

QUEUE = "cpu"

tasks = TaskRegistry()
logger = logging.getLogger("queues.cpu_sample")


class OddText(str):
    """Text of a class of its own."""

    __slots__ = ()


def dies(number: int) -> None:
    """End this process by a signal, without a dump of its threads."""
    faulthandler.disable()
    os.kill(os.getpid(), number)


def note(path: str, text: object = "") -> None:
    """Add a line to the file at *path*."""
    with Path(path).open("a") as file:
        file.write(f"{text or os.getpid()}\n")


@tasks.task(queue=QUEUE, cpu=True)
def pid() -> int:
    return os.getpid()


@tasks.task(queue=QUEUE, cpu=True)
def runs_a_loop() -> list[object]:
    """Run an event loop, as libraries do. No other one runs here."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop()
        raise AssertionError("there is a loop")

    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    return [asyncio.run(answer()), asyncio.run(answer()), current_task().attempt]


@tasks.task(queue=QUEUE, cpu=True)
def day_after(day: date) -> date:
    return date.fromordinal(day.toordinal() + 1)


@tasks.task(queue=QUEUE, cpu=True)
def describes_itself() -> list[object]:
    me = current_task()
    return [me.task_id, me.task, me.queue, me.attempt, me.token]


@tasks.task(queue=QUEUE, cpu=True, retry=Retry(attempts=2, backoff=0.01))
def fails(path: str) -> None:
    note(path, current_task().attempt)
    raise ValueError("no such player")


@tasks.task(queue=QUEUE, cpu=True, retry=Retry(attempts=1))
def exits() -> None:
    sys.exit("enough")


@tasks.task(queue=QUEUE, cpu=True)
def unstorable() -> object:
    return object()


@tasks.task(queue=QUEUE, cpu=True)
def crashes(how: str, path: str) -> None:
    note(path, f"{current_task().attempt} {how}")
    match how:
        case "segfault":
            dies(signal.SIGSEGV)
        case "kill":
            dies(signal.SIGKILL)
        case "exit":
            os._exit(3)


@tasks.task(queue=QUEUE, cpu=True)
def crashes_once(path: str) -> str:
    note(path)
    if current_task().attempt == 1:
        dies(signal.SIGKILL)
    return "done"


@tasks.task(queue=QUEUE, cpu=True, timeout=0.5, retry=Retry(attempts=1))
def endless(path: str) -> None:
    """Compute without a step of Python code in which an interruption could come."""
    note(path)
    sum(range(10**15))


@tasks.task(queue=QUEUE, cpu=True)
def waits(path: str, gate: str) -> int:
    note(path)
    while not Path(gate).exists():
        time.sleep(0.01)
    return os.getpid()


@tasks.task(queue=QUEUE, cpu=True)
def starts_a_program(path: str) -> None:
    program = subprocess.Popen(["sleep", "1000"])
    note(path, program.pid)
    program.wait()


@tasks.task(queue=QUEUE, cpu=True)
def speaks() -> None:
    print("printed in the child")
    logger.warning("logged in the child of %s", "someone", extra={"player": 17})
    logger.debug("too low to be logged")


@tasks.task(queue=QUEUE, cpu=True)
def sleeps_a_bit() -> None:
    time.sleep(0.2)


@tasks.task(queue=QUEUE, cpu=True)
def speaks_oddly() -> None:
    extra = {"name_of": OddText("jill \ud800"), "large": 2**70, "number": 17}
    logger.warning("lone %s", "\ud800", extra=extra)


@tasks.task(queue=QUEUE, cpu=True, retry=Retry(attempts=1))
def forks_and_dies(path: str) -> None:
    """Leave a process that was forked, and that lives longer than this one."""
    if (forked := os.fork()) == 0:
        time.sleep(60)
        os._exit(0)
    note(path, forked)
    dies(signal.SIGKILL)


@tasks.task(queue=QUEUE, cpu=True)
def forks_and_returns(path: str, how: str) -> str:
    """Return twice: in this process, and in the one that it has forked."""
    if (forked := os.fork()) == 0:
        logger.warning("logged in the copy")
        if how == "raises":
            raise ValueError("raised in the copy")
        return "copy"
    note(path, forked)
    os.waitpid(forked, 0)
    return "child"


@tasks.task(queue="plain")
def in_a_thread() -> int:
    return os.getpid()
