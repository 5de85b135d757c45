"""How fast one worker runs tasks that are spread over a hundred queues, beside one queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..harness import BenchmarkRun, comparison, interleaved
from ..report import Table
from .contender_processes import rehearsed, running_contenders
from .lineup import HOLDFAST, HOLDFAST_QUEUES
from .throughput import working

TASKS: Final = 20_000
ROUNDS_PART: Final = 4


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure no-op tasks; results are kept."""
    tasks = bench.scaled(TASKS)
    with running_contenders(bench, [HOLDFAST_QUEUES, HOLDFAST], tasks) as opened:
        able, notes = rehearsed(bench, opened)
        ours, one = [working(bench, contender) for contender in able]
        samples = interleaved([ours, one], bench.fewer(ROUNDS_PART), tasks, bench.server)
    yield comparison("one worker, no-op tasks in 100 queues", samples, ours, [one], notes=notes)
