"""Define the actions that `holdfast bench` measures."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ... import TaskRegistry
from .measure import (
    Measurement,
    Stopwatch,
    repeat,
    repeat_in_coroutines,
    repeat_in_threads,
)

if TYPE_CHECKING:
    from ... import AsyncHoldfast, Holdfast

MEASUREMENTS: Final = 10
"""The number of measurements. Each gets the same share of the time."""

THREADS: Final = 8
COROUTINES: Final = 50

BATCH: Final = 500
BATCHES: Final = 100
"""Batches of tasks that are enqueued at most, because tasks take memory of the server."""

NAMES: Final = 1_000
"""Names among which a prefix is searched."""

ROUND_TRIP: Final = "a call: one round trip"
WORKER: Final = "a worker: tasks run"
CROWDED: Final = f"calls, {COROUTINES} coroutines"


def blocking(hf: Holdfast, tasks: TaskRegistry, seconds: float) -> Iterator[Measurement]:
    """Measure the blocking client, each action for *seconds*."""
    lock = hf.lock("bench")
    yield repeat(ROUND_TRIP, lock.inspect, seconds)
    yield repeat_in_threads(f"calls, {THREADS} threads", lock.inspect, seconds, THREADS)
    yield repeat("a lock: acquire and release", lambda: lock.acquire().release(), seconds)
    chat = hf.create_chat(["jill", "jack"], sender="jill", body="hello", chat_id="bench")
    yield repeat("a chat: send", lambda: chat.send("how are you?", sender="jack"), seconds)
    hits = hf.counter("bench")
    yield repeat("a counter: add", hits.add, seconds)
    names = hf.completions("bench")
    names.add_many(f"Carla Santos {number:04}" for number in range(NAMES))
    yield repeat(f"a search among {NAMES:,} names", lambda: names.search("car"), seconds)
    [task] = tasks
    yield repeat("a task: enqueue", lambda: hf.enqueue(task.call()), seconds)
    calls = [task.call()] * BATCH
    yield repeat(
        f"tasks: enqueue_many, {BATCH} at a time",
        lambda: hf.enqueue_many(calls),
        seconds,
        each=BATCH,
        most=BATCHES,
    )


async def concurrent(hf: AsyncHoldfast, task: CountedTask, seconds: float) -> list[Measurement]:
    """Measure the asyncio client; its worker runs the tasks that `blocking` has enqueued."""
    crowd = await repeat_in_coroutines(CROWDED, hf.lock("bench").inspect, seconds, COROUTINES)
    return [crowd, await _worker(hf, task, seconds)]


async def _worker(hf: AsyncHoldfast, task: CountedTask, seconds: float) -> Measurement:
    """Measure a worker from its first task to its last one, but at most for *seconds*."""
    task.left = (await hf.queue("bench").stats()).ready
    worker = hf.worker(task.registry, concurrency=COROUTINES)
    running = asyncio.create_task(worker.run())
    await _wait_for(running, task.started)
    watch, before = Stopwatch(), task.ran
    await _wait_for(running, task.finished, timeout=seconds)
    measure = watch.measure(WORKER, range(task.ran - before), timed=False)
    worker.stop()
    await running
    return measure


async def _wait_for(
    running: asyncio.Task[None], event: asyncio.Event, *, timeout: float | None = None
) -> None:
    """Wait for *event*, or until the worker ends."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait([running, waiting], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


class CountedTask:
    """A task that only counts how often it ran.

    Attributes:
        registry: holds the task.
        left: how many tasks are still to run.
        ran: how many have run.
        started: set when the first one runs.
        finished: set when the last one runs.
    """

    def __init__(self) -> None:
        self.registry: TaskRegistry = TaskRegistry()
        self.left: int = 0
        self.ran: int = 0
        self.started: asyncio.Event = asyncio.Event()
        self.finished: asyncio.Event = asyncio.Event()
        self.registry.task(queue="bench", name="nothing")(self._run)

    async def _run(self) -> None:
        self.ran += 1
        self.left -= 1
        self.started.set()
        if not self.left:
            self.finished.set()
