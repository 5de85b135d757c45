"""How fast one worker process runs tasks that are queued already.

The time is from the start of the first task to the start of the last, so imports do not count.
Results are kept. The processor time of the client is that of the worker, over the same span.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from ..harness import BenchmarkRun, Case, Sample, Taken, best, comparison, interleaved
from ..report import Table
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .lineup import (
    ARQ,
    BARE,
    CELERY_PREFORK,
    CELERY_SOLO,
    CELERY_THREADS,
    DRAMATIQ,
    HOLDFAST,
    HOLDFAST_THREADS,
    HUEY,
    RQ,
    SAQ,
    SAQ_100,
    SEED,
    TASKIQ,
    Entry,
    chosen,
)

TASKS: Final = 20_000
ROUNDS_PART: Final = 6

COROUTINES_TARGET: Final = 3.5
THREADS_TARGET: Final = 1.0

THREADED: Final = (DRAMATIQ, HUEY, CELERY_THREADS)
OTHERS: Final = (TASKIQ, ARQ, SAQ, SAQ_100, CELERY_SOLO, CELERY_PREFORK, RQ)

_LIMIT_S: Final = 60.0
_LAST_RESULTS_S: Final = 0.1


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Coroutines beside everybody, threads beside threads."""
    entries = chosen(bench, [HOLDFAST, HOLDFAST_THREADS, *THREADED, *OTHERS, SEED, BARE])
    tasks = bench.scaled(TASKS)
    with running_contenders(bench, entries, tasks) as opened:
        able, notes = rehearsed(bench, opened)
        cases = [working(bench, contender) for contender in able]
        samples = interleaved(cases, bench.fewer(ROUNDS_PART), tasks, bench.server)
    table = partial(_table, cases, samples)
    yield table("coroutines", HOLDFAST, [*THREADED, *OTHERS], COROUTINES_TARGET, notes)
    yield table("plain functions in threads", HOLDFAST_THREADS, THREADED, THREADS_TARGET, notes)


def working(bench: BenchmarkRun, contender: ContenderProcesses) -> Case:
    """Return the case: a worker of *contender* runs tasks that are queued."""

    def prepare(count: int) -> None:
        bench.server.clear()
        contender.board.clear()
        contender.order("many", count=count)

    def work(count: int) -> Taken:
        contender.start_worker()
        contender.wait_done(count, _LIMIT_S)
        time.sleep(_LAST_RESULTS_S)
        contender.kill_workers()
        return _taken(contender, count)

    return Case(contender.entry.name, work, prepare, contender.entry.share)


def _taken(contender: ContenderProcesses, count: int) -> Taken:
    """Return what the scoreboard shows, for as many tasks as were queued."""
    runs = contender.board.runs(count)
    gaps = max(1, count - runs.lost - 1)
    cpu_s = None if contender.entry.processes else runs.cpu_s / gaps * count
    return Taken(runs.wall_s / gaps * count, cpu_s, runs.lost, runs.repeated)


def _table(
    cases: Sequence[Case],
    samples: Mapping[str, Sequence[Sample]],
    what: str,
    subject: Entry,
    rivals: Sequence[Entry],
    target: float,
    notes: Sequence[str],
) -> Table:
    by_name = {case.name: case for case in cases}
    ours = by_name[subject.name]
    theirs = [by_name[rival.name] for rival in rivals if rival.name in by_name]
    targets = [best(samples, ours, theirs, target)] if theirs else []
    beside = [*theirs, by_name[SEED.name], by_name[BARE.name]]
    if not any(one.lost or one.repeated for case in [ours, *beside] for one in samples[case.name]):
        notes = [*notes, "every task of every round ran exactly once"]
    return comparison(f"one worker, no-op tasks, {what}", samples, ours, beside, targets, notes)
