"""How long one step of a busy worker keeps the server.

A step settles what has finished and claims what is next: here 32 tasks each, results kept. The
server counts the calls of scripts and their time by itself; it counts from when a tenth of the
tasks has run until nine tenths have, so that all of them are steps of full batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

from ..harness import BenchmarkRun, spread_of
from ..report import Cell, Table, Target
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .lineup import HOLDFAST

TASKS: Final = 60_000
PLACES: Final = 256
BATCH: Final = 64

ROUNDS_PART: Final = 6

TARGET_MS: Final = 1.0

_LIMIT_S: Final = 60.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one worker with a long queue."""
    tasks = bench.scaled(TASKS)
    with running_contenders(bench, [HOLDFAST.placed(PLACES)], tasks) as opened:
        (contender,), notes = rehearsed(bench, opened)
        rounds = [_round(bench, contender, tasks) for _ in range(bench.fewer(ROUNDS_PART) + 1)][1:]
    names = ("tasks per step", "ms per step, mean", "ms per step, p50", "ms per step, p99")
    rows: list[list[Cell]] = [
        [name, spread_of([taken[i] for taken in rounds])] for i, name in enumerate(names)
    ]
    per_batch = median(mean_ms / filled * BATCH for filled, mean_ms, _, _ in rounds)
    title = f"the server's time for a step, {PLACES} places"
    target = Target(f"ms for {BATCH} settled and claimed", per_batch, TARGET_MS, at_least=False)
    yield Table(title, ("of a step", "median of the rounds"), rows, [target], notes, len(rounds))


def _round(
    bench: BenchmarkRun, contender: ContenderProcesses, tasks: int
) -> tuple[float, float, float, float]:
    """Tasks in a step, and milliseconds: the mean, the median, the slowest hundredth."""
    server, board = bench.server, contender.board
    server.clear()
    board.clear()
    contender.order("many", count=tasks)
    contender.start_worker()
    contender.wait_done(tasks // 10, _LIMIT_S)
    left = board.left(tasks)
    server.forget_statistics()
    contender.wait_done(tasks * 9 // 10, _LIMIT_S)
    spent = server.spent_on("evalsha")
    settled = left - board.left(tasks)
    contender.kill_workers()
    mean_ms = spent.total_s / spent.calls * 1000
    return settled / spent.calls, mean_ms, spent.p50_s * 1000, spent.p99_s * 1000
