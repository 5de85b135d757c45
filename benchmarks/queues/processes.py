"""CPU-bound tasks in one and in two processes, and how soon two processes begin a task.

Workers are started first, and each has begun a task before it is measured. A task computes for some
milliseconds, so nearly all the time is that of the tasks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from typing import Final

from ..harness import BenchmarkRun, Case, Taken, comparison, interleaved, ratios
from ..report import Table, Target
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .latency import GAP_S, Delays, measured
from .lineup import (
    CELERY_PREFORK,
    CELERY_PREFORK_1,
    HOLDFAST_1,
    HOLDFAST_2,
    HOLDFAST_CPU,
    RQ_POOL,
    chosen,
)

TASKS: Final = 600
STEPS: Final = 100_000
"""About 5 ms of one processor."""

DELAYED: Final = 250
ROUNDS_PART: Final = 6
TARGET: Final = 1.8

_READY_S: Final = 2.0
_LIMIT_S: Final = 60.0
_END_S: Final = 1.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure throughput, and the delay of a task every 20 ms."""
    yield _throughput(bench)
    yield _latency(bench)


def _throughput(bench: BenchmarkRun) -> Table:
    rivals = [HOLDFAST_1, HOLDFAST_CPU, CELERY_PREFORK, CELERY_PREFORK_1, RQ_POOL]
    entries = chosen(bench, [HOLDFAST_2, *rivals])
    tasks = bench.scaled(TASKS)
    with running_contenders(bench, entries, tasks, steps=STEPS) as opened:
        able, notes = rehearsed(bench, opened)
        cases = [_case(bench, contender) for contender in able]
        samples = interleaved(cases, bench.fewer(ROUNDS_PART), tasks, bench.server)
    ours, *beside = cases
    scaling = ratios(samples[HOLDFAST_1.name], samples[HOLDFAST_2.name])
    target = Target("2 processes ÷ 1 process", scaling.middle, TARGET, at_least=True)
    title = "CPU-bound tasks of about 5 ms, in processes"
    return comparison(title, samples, ours, beside, [target], notes)


def _case(bench: BenchmarkRun, contender: ContenderProcesses) -> Case:
    def prepare(_count: int) -> None:
        bench.server.clear()
        contender.board.clear()
        contender.start_worker()
        contender.greet()
        time.sleep(_READY_S)  # for the second process

    def work(count: int) -> Taken:
        contender.order("many", count=count)
        contender.wait_done(count, _LIMIT_S)
        contender.kill_workers()
        time.sleep(_END_S)  # for processes that notice the end of their supervisor
        runs = contender.board.runs(count)
        gaps = max(1, count - runs.lost - 1)
        return Taken(runs.wall_s / gaps * count, None, runs.lost, runs.repeated)

    return Case(contender.entry.name, work, prepare)


def _latency(bench: BenchmarkRun) -> Table:
    entries = chosen(bench, [HOLDFAST_2, HOLDFAST_1, HOLDFAST_CPU, CELERY_PREFORK, RQ_POOL])
    tasks = bench.scaled(DELAYED)
    with running_contenders(bench, entries, tasks) as opened:
        able, notes = rehearsed(bench, opened)
        delays: dict[str, list[Delays]] = {contender.entry.name: [] for contender in able}
        rounds = bench.fewer(ROUNDS_PART)
        for _ in range(rounds):
            for contender in able:
                delays[contender.entry.name].append(
                    measured(bench, contender, tasks, ready_s=_READY_S)
                )
                time.sleep(_END_S)
    rows = [
        [
            name,
            median(one.p50 for one in taken),
            median(one.p99 for one in taken),
            median(one.longest for one in taken),
            sum(one.lost for one in taken),
        ]
        for name, taken in delays.items()
    ]
    title = f"from enqueue to start in processes, a task every {GAP_S * 1000:g} ms"
    return Table(title, ("case", "p50 ms", "p99 ms", "max ms", "lost"), rows, (), notes, rounds)
