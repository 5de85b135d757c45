"""What is measured."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ... import TaskRegistry
from .measure import Measure, Stopwatch, again, in_threads, together

if TYPE_CHECKING:
    from ... import AsyncHoldfast, Holdfast

STATIONS: Final = 10
"""That there are, so that each has its share of the time."""

THREADS: Final = 8
COROUTINES: Final = 50

BATCH: Final = 500
BATCHES: Final = 100
"""At most: what waits takes memory of the server."""

NAMES: Final = 1_000
"""That are searched."""

ROUND_TRIP: Final = "a call: one round trip"
WORKED: Final = "a worker: tasks run"
CROWDED: Final = f"calls, {COROUTINES} coroutines"


def blocking(hf: Holdfast, tasks: TaskRegistry, seconds: float) -> Iterator[Measure]:
    """What the blocking half does, each station for so many *seconds*."""
    lock = hf.lock("bench")
    yield again(ROUND_TRIP, lock.inspect, seconds)
    yield in_threads(f"calls, {THREADS} threads", lock.inspect, seconds, THREADS)
    yield again("a lock: acquire and release", lambda: lock.acquire().release(), seconds)
    chat = hf.create_chat(["jill", "jack"], sender="jill", body="hello", chat_id="bench")
    yield again("a chat: send", lambda: chat.send("how are you?", sender="jack"), seconds)
    hits = hf.counter("bench")
    yield again("a counter: add", hits.add, seconds)
    names = hf.completions("bench")
    names.add_many(f"Carla Santos {number:04}" for number in range(NAMES))
    yield again(f"a search among {NAMES:,} names", lambda: names.search("car"), seconds)
    [task] = tasks
    yield again("a task: enqueue", lambda: hf.enqueue(task.call()), seconds)
    calls = [task.call()] * BATCH
    yield again(
        f"tasks: enqueue_many, {BATCH} at a time",
        lambda: hf.enqueue_many(calls),
        seconds,
        each=BATCH,
        most=BATCHES,
    )


async def concurrent(hf: AsyncHoldfast, work: Work, seconds: float) -> list[Measure]:
    """What the asyncio half does; the worker runs what was enqueued before."""
    crowd = await together(CROWDED, hf.lock("bench").inspect, seconds, COROUTINES)
    return [crowd, await _worked(hf, work, seconds)]


async def _worked(hf: AsyncHoldfast, work: Work, seconds: float) -> Measure:
    """From the first task that runs to the last, or to the end of the time."""
    work.left = (await hf.queue("bench").stats()).ready
    worker = hf.worker(work.tasks, concurrency=COROUTINES)
    running = asyncio.create_task(worker.run())
    await _either(running, work.begun)
    watch, before = Stopwatch(), work.ran
    await _either(running, work.over, timeout=seconds)
    measure = watch.measure(WORKED, range(work.ran - before), timed=False)
    worker.stop()
    await running
    return measure


async def _either(
    running: asyncio.Task[None], event: asyncio.Event, *, timeout: float | None = None
) -> None:
    """Wait for *event*, but no longer than the worker runs."""
    waiting = asyncio.create_task(event.wait())
    await asyncio.wait([running, waiting], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


class Work:
    """A task that does nothing but count how often it ran.

    Attributes:
        left: how many there are to be run.
        ran: how many did.
        begun: set when the first one runs.
        over: set when the last one does.
    """

    def __init__(self) -> None:
        self.tasks = TaskRegistry()
        self.left = self.ran = 0
        self.begun, self.over = asyncio.Event(), asyncio.Event()
        self.tasks.task(queue="bench", name="nothing")(self._run)

    async def _run(self) -> None:
        self.ran += 1
        self.left -= 1
        self.begun.set()
        if not self.left:
            self.over.set()
