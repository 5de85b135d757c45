"""From the moment before a task is enqueued to the moment it starts, in an idle worker.

Producer and worker are processes of their own and read the same clock, the monotonic one of the
system.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

from ..harness import BenchmarkRun, spread_of
from ..report import Cell, Table, Target
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .lineup import (
    ARQ,
    BARE,
    CELERY_THREADS,
    DRAMATIQ,
    HOLDFAST,
    HOLDFAST_THREADS,
    HUEY,
    RQ,
    SAQ,
    SEED,
    TASKIQ,
    chosen,
)

TASKS: Final = 250
GAP_S: Final = 0.02

ROUNDS_PART: Final = 10

RIVALS: Final = (HUEY, TASKIQ, SAQ, RQ, CELERY_THREADS, DRAMATIQ, ARQ)

_LAST_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Delays:
    """Milliseconds that the tasks of one round waited for their start."""

    p50: float
    p99: float
    longest: float
    lost: int


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one task every 20 ms."""
    entries = chosen(bench, [HOLDFAST, HOLDFAST_THREADS, *RIVALS, SEED, BARE])
    tasks = bench.scaled(TASKS)
    with running_contenders(bench, entries, tasks) as opened:
        able, notes = rehearsed(bench, opened)
        delays: dict[str, list[Delays]] = {contender.entry.name: [] for contender in able}
        rounds = bench.fewer(ROUNDS_PART)
        for _ in range(rounds):
            for contender in able:
                delays[contender.entry.name].append(measured(bench, contender, tasks))
    rows = [_row(name, taken, delays[HOLDFAST.name]) for name, taken in delays.items()]
    title = f"from enqueue to start, a task every {GAP_S * 1000:g} ms"
    columns = ("case", "p50 ms", "p99 ms", "max ms", "lost", "ours ÷ this, p50")
    yield Table(title, columns, rows, list(_targets(delays)), notes, rounds)


def measured(
    bench: BenchmarkRun, contender: ContenderProcesses, tasks: int, ready_s: float = 0.0
) -> Delays:
    """Measure one round, *ready_s* seconds after the worker has run its first task."""
    bench.server.clear()
    contender.board.clear()
    contender.start_worker()
    contender.greet()
    time.sleep(ready_s)
    sent_ns = contender.order("paced", count=tasks, gap_s=GAP_S)["sent_ns"]
    contender.wait_done(tasks, _LAST_S)
    contender.kill_workers()
    runs = contender.board.runs(tasks)
    pairs = zip(sent_ns, runs.starts_ns, strict=True)
    waited = [(start - sent) / 1e6 for sent, start in pairs if start]
    return Delays(
        median(waited), quantiles(waited, n=100, method="inclusive")[98], max(waited), runs.lost
    )


def _row(name: str, taken: Sequence[Delays], ours: Sequence[Delays]) -> list[Cell]:
    return [
        name,
        median(one.p50 for one in taken),
        median(one.p99 for one in taken),
        median(one.longest for one in taken),
        sum(one.lost for one in taken),
        None
        if taken is ours
        else spread_of([a.p50 / b.p50 for a, b in zip(ours, taken, strict=True)]),
    ]


def _targets(delays: dict[str, list[Delays]]) -> Iterator[Target]:
    """Yield the targets: our median and 99th percentile are not above the best rival's."""
    ours = delays[HOLDFAST.name]
    rivals = [taken for name, taken in delays.items() if name in {one.name for one in RIVALS}]
    for what in ("p50", "p99"):
        if rivals:
            best = min(median(getattr(one, what) for one in taken) for taken in rivals)
            value = median(getattr(one, what) for one in ours)
            yield Target(f"{what} ms, the best rival's as the limit", value, best, at_least=False)
