"""What the events of tasks cost the server, and what they cost tasks that have none.

One worker runs tasks that report events at a steady rate. The server counts its own processor time;
what it takes for the worker without events is subtracted.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from holdfast import Holdfast, TaskRegistry, current_task

from ..harness import BenchmarkRun, spread_of
from ..report import Cell, Table, Target

EVENTS_PER_S: Final = 10_000
SECONDS: Final = 4.0
RUNNING: Final = (1, 10, 100)
"""Tasks that report at once; together they report `EVENTS_PER_S`."""

TICK_S: Final = 0.01
ROUNDS_PART: Final = 6

TARGET_PERCENT: Final = 10.0

_EVENT: Final = {"token": "word", "index": 12345}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure the server's processor time for the events of some tasks."""
    rounds = bench.fewer(ROUNDS_PART)
    rows: list[list[Cell]] = []
    worst = 0.0
    for tasks in RUNNING:
        taken = [_round(bench, tasks) for _ in range(rounds)]
        percents = spread_of([percent for percent, _, _ in taken])
        rates = spread_of([rate for _, rate, _ in taken])
        calls = spread_of([calls for _, _, calls in taken])
        rows.append([f"{tasks} tasks", rates, calls, percents])
        worst = max(worst, sorted(percent for percent, _, _ in taken)[len(taken) // 2])
    columns = ("running", "events/s", "calls/s", "% of a core")
    target = Target(
        f"% of a core for {EVENTS_PER_S:,} events/s", worst, TARGET_PERCENT, at_least=False
    )
    title = "events of one worker: the server's processor time"
    yield Table(title, columns, rows, [target], rounds=rounds)


def _round(bench: BenchmarkRun, running: int) -> tuple[float, float, float]:
    """Return percents of a core, events per second and calls per second."""
    bench.server.clear()
    counted = [0]
    tasks = TaskRegistry()

    @tasks.task(queue="events", result_ttl=10.0)
    async def reports(per_tick: float, seconds: float) -> None:
        task, began, sent = current_task(), time.monotonic(), 0
        while (spent := time.monotonic() - began) < seconds:
            due = int(spent / TICK_S * per_tick) - sent
            for _ in range(due):
                task.emit(_EVENT)
            sent += due
            await asyncio.sleep(TICK_S)
        counted[0] += sent

    with Holdfast.from_url(bench.server.url, namespace="events") as hf, _working(hf, tasks):
        idle = _spent(bench, SECONDS / 2)
        per_tick = EVENTS_PER_S * TICK_S / running
        handles = hf.enqueue_many([reports.call(per_tick, SECONDS) for _ in range(running)])
        before, began = bench.server.usage(), time.monotonic()
        for handle in handles:
            handle.result(timeout=60)
        spent, after = time.monotonic() - began, bench.server.usage()
    percent = 100 * ((after.cpu_s - before.cpu_s) / spent - idle)
    calls = (after.commands - before.commands) / spent
    return percent, counted[0] / spent, calls


def _spent(bench: BenchmarkRun, seconds: float) -> float:
    """Return the processor seconds per second of the server in front of an idle worker."""
    before = bench.server.usage().cpu_s
    time.sleep(seconds)
    return (bench.server.usage().cpu_s - before) / seconds


@contextmanager
def _working(hf: Holdfast, tasks: TaskRegistry) -> Iterator[None]:
    worker = hf.worker(tasks, concurrency=max(RUNNING))
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()
