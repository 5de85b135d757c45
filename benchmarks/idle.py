"""What a worker with nothing to do asks of the server, also beside many schedules."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from holdfast import AsyncHoldfast, Every, Holdfast, TaskRegistry

from .harness import BenchmarkRun
from .monitor import watched
from .report import Cell, Table, Target

WATCH_S: Final = 40.0
"""Twice the longest interval of an idle worker, so that each of its habits shows."""

SETTLE_S: Final = 3.0
"""Connecting, subscribing and the first step are not idleness."""

TARGET: Final = 2.0
"""Commands per second, those inside scripts included, for a worker with one queue."""


SCHEDULES: Final = (0, 10_000, 100_000)
"""How many schedules the queue has. None of them becomes due."""

AT_ONCE: Final = 500

ADDED: Final = 0.02
"""Share by which 10,000 schedules may raise what an idle worker asks."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one worker of one queue, without any task; then beside schedules."""
    yield _idle(bench)
    yield _scheduled(bench)


def _idle(bench: BenchmarkRun) -> Table:
    bench.server.clear()
    watch_s = bench.scaled(round(WATCH_S))
    with Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf, _working(hf):
        time.sleep(SETTLE_S)
        client_s = time.process_time()
        total, seen = watched(bench.server, watch_s)
        client_s = time.process_time() - client_s
    rows: list[list[Cell]] = [
        ["all, those inside scripts included", total / watch_s],
        ["sent by the worker", sum(n for (_, inside), n in seen.items() if not inside) / watch_s],
    ]
    for (name, inside), times in seen.most_common():
        rows.append([f"  {name}{', inside a script' if inside else ''}", times / watch_s])
    rows.append(["client CPU, ms", client_s * 1000 / watch_s])
    return Table(
        f"an idle worker of one queue, {watch_s} s",
        ("at the server", "per second"),
        rows,
        [Target("commands per second at the server", total / watch_s, TARGET, at_least=False)],
    )


def _scheduled(bench: BenchmarkRun) -> Table:
    watch_s = bench.scaled(round(WATCH_S))
    rows: list[list[Cell]] = []
    commands: list[float] = []
    for count in SCHEDULES[:2] if bench.quick else SCHEDULES:
        bench.server.clear()
        before = bench.server.memory()
        asyncio.run(_schedule(bench.server.url, count))
        bytes_each = (bench.server.memory() - before) / count if count else 0.0
        with Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf, _working(hf):
            time.sleep(SETTLE_S)
            usage, client_s = bench.server.usage(), time.process_time()
            time.sleep(watch_s)
            client_s = time.process_time() - client_s
            used = bench.server.usage()
        commands.append((used.commands - usage.commands) / watch_s)
        cpu_ms = 1000 * client_s / watch_s, 1000 * (used.cpu_s - usage.cpu_s) / watch_s
        rows.append([f"{count:,}", commands[-1], *cpu_ms, bytes_each])
    target = Target("commands, 10,000 ÷ none", commands[1] / commands[0], 1 + ADDED, at_least=False)
    columns = ("schedules", "commands/s", "client CPU ms/s", "server CPU ms/s", "bytes each")
    return Table(f"an idle worker beside schedules, {watch_s} s", columns, rows, [target])


async def _schedule(url: str, count: int) -> None:
    """Store schedules that do not become due within a day."""
    tasks = TaskRegistry()
    call = tasks.task(queue="idle")(_nothing).call()
    async with AsyncHoldfast.from_url(url, namespace="benchmarks") as hf:
        for begin in range(0, count, AT_ONCE):
            names = [f"schedule-{n}" for n in range(begin, begin + AT_ONCE)]
            await asyncio.gather(*(hf.schedule(name, call, Every(days=30)) for name in names))


@contextmanager
def _working(hf: Holdfast) -> Iterator[None]:
    """Run a worker of one queue in a thread within the context."""
    tasks = TaskRegistry()
    tasks.task(queue="idle")(_nothing)
    worker = hf.worker(tasks)
    thread = threading.Thread(target=worker.run, name="idle worker")
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


def _nothing() -> None:
    """Do nothing: this task is never enqueued."""
