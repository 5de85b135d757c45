"""Fill a queue with tasks in every state, for the commands to show."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from typer.testing import Result

from faults.waiting import eventually
from holdfast import Holdfast, Retry, TaskHandle, TaskRegistry

HOSTILE = "[red]\x1b[31m\u202e:bomb:\\"
"""Markup, a colour, what turns text around, an emoji, and what would escape a bracket."""

VISIBLE = r"[red]\x1b[31m\u202e:bomb:" + "\\"
"""The same, harmless."""

HOSTILE_ID = "[red]:bomb:\\"
"""Ids hold no control characters."""

tasks = TaskRegistry()
free = threading.Event()

Run = Callable[..., Result]


@tasks.task(queue="crowd")
def hold() -> None:
    free.wait(600)


@tasks.task(queue="crowd", retry=Retry(attempts=1))
def fail(text: str, *, number: int = 0) -> None:
    raise ValueError(text)


@tasks.task(queue="crowd")
def note(text: str) -> str:
    return text


@contextmanager
def filled_queue(hf: Holdfast) -> Iterator[Holdfast]:
    """Put into queue `crowd`: 1 running task, 3 queued, 1 delayed, 2 dead; `ended` is done."""
    free.clear()
    for number in (1, 2):
        hf.enqueue(fail.call(HOSTILE, number=number).options(task_id=f"dead-{number}"))
        hf.worker(tasks).run(until_idle=True)
    hf.enqueue(note.call("x").options(task_id="ended"))
    hf.worker(tasks).run(until_idle=True)
    hf.enqueue(note.call("later").options(task_id="delayed", delay=3600))
    hf.enqueue(hold.call().options(task_id="running"))
    worker = hf.worker(tasks, concurrency=1, grace=0.1)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        eventually(lambda: hf.queue("crowd").stats().running == 1)
        for name in ("queued-1", "queued-2", HOSTILE_ID):
            hf.enqueue(note.call(HOSTILE).options(task_id=name))
        yield hf
    finally:
        free.set()
        worker.stop()
        thread.join(30)


def enqueue_dead(hf: Holdfast, number: int) -> list[TaskHandle[Any]]:
    """Put *number* dead tasks into queue `crowd`."""
    handles = hf.enqueue_many([fail.call("no") for _ in range(number)])
    hf.worker(tasks).run(until_idle=True)
    return list(handles)


def rows(result: Result) -> list[dict[str, Any]]:
    """Return the JSON objects that a command printed, one per line."""
    return [json.loads(line) for line in result.stdout.splitlines()]
