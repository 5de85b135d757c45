"""How fast a producer enqueues: one by one, from many coroutines, many at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from ..harness import BenchmarkRun, Case, Sample, Taken, best, comparison, interleaved
from ..report import Table, Target
from .contender import BATCH, COROUTINES
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .lineup import (
    ARQ,
    BARE,
    CELERY_THREADS,
    DRAMATIQ,
    HOLDFAST,
    HOLDFAST_ASYNCIO,
    HUEY,
    RQ,
    SAQ,
    SEED,
    TASKIQ,
    Entry,
    chosen,
)

SINGLE: Final = 1_000
IN_COROUTINES: Final = 5_000
BULK: Final = 10_000
"""Tasks in a round."""

ROUNDS_PART: Final = 3

READS_TARGET: Final = 1.0
LANES_TARGET: Final = 3.0
BULK_TARGET: Final = 1.2
"""Times the pipelined `RPUSH`; no more can be gained as long as a task has to be encoded."""

BLOCKING: Final = (HUEY, DRAMATIQ, CELERY_THREADS, RQ)
ON_A_LOOP: Final = (SAQ, TASKIQ, ARQ)


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Three tables."""
    yield _singles(bench)
    yield _coroutines(bench)
    yield _bulk(bench)


def _singles(bench: BenchmarkRun) -> Table:
    """Measure one call per task, one after the other."""
    rivals = chosen(bench, [*BLOCKING, *ON_A_LOOP])
    cases, samples, notes = _measured(bench, [HOLDFAST, *rivals, SEED, BARE], "each", SINGLE)
    reads = median(one.reads for one in samples[HOLDFAST.name])
    trips = Target("round trips per enqueue", round(reads, 2), READS_TARGET, at_least=False)
    title = "enqueue, one after the other"
    return comparison(title, samples, cases[0], cases[1:], [trips], notes)


def _coroutines(bench: BenchmarkRun) -> Table:
    rivals = chosen(bench, ON_A_LOOP)
    cases, samples, notes = _measured(
        bench, [HOLDFAST_ASYNCIO, *rivals], "coroutines", IN_COROUTINES
    )
    targets = [best(samples, cases[0], cases[1:], LANES_TARGET)] if cases[1:] else []
    title = f"enqueue, {COROUTINES} coroutines at once"
    return comparison(title, samples, cases[0], cases[1:], targets, notes)


def _bulk(bench: BenchmarkRun) -> Table:
    rivals = chosen(bench, [RQ, *ON_A_LOOP])
    cases, samples, notes = _measured(bench, [HOLDFAST, SEED, *rivals, BARE], "many", BULK)
    targets = [best(samples, cases[0], cases[1:2], BULK_TARGET)]
    notes.append(f"{COROUTINES} coroutines where a library has no bulk enqueue: SAQ, taskiq, arq")
    title = f"enqueue many, in batches of {BATCH}"
    return comparison(title, samples, cases[0], cases[1:], targets, notes)


def _measured(
    bench: BenchmarkRun, entries: Sequence[Entry], verb: str, count: int
) -> tuple[list[Case], dict[str, list[Sample]], list[str]]:
    """Return the cases of *entries*, ours first, their samples, and notes."""
    count = bench.scaled(count)
    with running_contenders(bench, entries, count) as opened:
        able, notes = rehearsed(bench, opened, verb)
        cases = [_case(bench, contender, verb) for contender in able]
        samples = interleaved(cases, bench.fewer(ROUNDS_PART), count, bench.server)
        return cases, samples, notes


def _case(bench: BenchmarkRun, contender: ContenderProcesses, verb: str) -> Case:
    def prepare(count: int) -> None:
        del count
        bench.server.clear()

    def work(count: int) -> Taken:
        answer = contender.order(verb, count=count)
        return Taken(answer["wall_s"], answer["cpu_s"])

    return Case(contender.entry.name, work, prepare)
