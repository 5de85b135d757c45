"""Tasks that worker processes of `holdfast worker --processes` import."""

import os
import time
from pathlib import Path

from holdfast import Retry, TaskRegistry, current_task

QUEUE = "processes"

tasks = TaskRegistry()
leaked: list[bytearray] = []

if os.environ.get("PROCESS_BREAKS") and Path(os.environ["PROCESS_BREAKS"]).exists():
    raise OSError("the disk is full")


def note(path: str, text: object) -> None:
    """Add a line to the file at *path*."""
    with Path(path).open("a") as file:
        file.write(f"{text}\n")


@tasks.task(queue=QUEUE)
def waits(path: str, gate: str) -> int:
    """Note the process, and wait for a file."""
    note(path, os.getpid())
    while not Path(gate).exists():
        time.sleep(0.01)
    return os.getpid()


@tasks.task(queue=QUEUE)
async def blocks(path: str) -> None:
    """Keep the event loop of the worker from turning, for good."""
    note(path, os.getpid())
    time.sleep(1000)  # noqa: ASYNC251 (as it must not)


@tasks.task(queue=QUEUE)
def pid(pause: float = 0.0) -> int:
    time.sleep(pause)
    return os.getpid()


@tasks.task(queue=QUEUE, retry=Retry(attempts=1))
def leaks(path: str, size: int) -> None:
    """Take memory that is never given back."""
    leaked.append(bytearray(os.urandom(1024)) * (size // 1024))
    note(path, f"{os.getpid()} {current_task().attempt}")
    time.sleep(0.02)


@tasks.task(queue=QUEUE, cpu=True)
def computes(path: str, gate: str) -> int:
    note(path, os.getpid())
    while not Path(gate).exists():
        time.sleep(0.01)
    return os.getppid()
