"""An uncontended lock: acquired and released, one after the other, in one thread.

That it excludes anybody is seen before each round: then a second process wants it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final

from ..harness import BenchmarkRun, Case, Sample, Taken, best, comparison, interleaved
from ..report import Table, Target
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .lineup import BARE, HOLDFAST, LOCKS, OURS, REDIS_PY, chosen

CYCLES: Final = 1_000
ROUNDS_PART: Final = 5

READS_TARGET: Final = 2.0
RATE_TARGET: Final = 1.0

_GLIMPSE_S: Final = 0.05


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one process, interleaved with each rival's."""
    entries = chosen(bench, [HOLDFAST, *LOCKS, BARE])
    with running_contenders(bench, entries, processes=2) as opened:
        cases, samples, notes = cycled(bench, opened, CYCLES)
    reads = median(one.reads for one in samples[HOLDFAST.name])
    rival = next(case for case in cases if case.name == REDIS_PY.name)
    targets = [
        Target("round trips per cycle", round(reads, 2), READS_TARGET, at_least=False),
        best(samples, cases[0], [rival], RATE_TARGET),
    ]
    title = "an uncontended lock acquired and released, one thread"
    yield comparison(title, samples, cases[0], cases[1:], targets, notes)


def cycled(
    bench: BenchmarkRun, contenders: Sequence[ContenderProcesses], count: int
) -> tuple[list[Case], dict[str, list[Sample]], list[str]]:
    """Return the cases of the locks that exclude, their samples for *count* cycles, and notes.

    Raises:
        ContenderFailed: our own lock let two in at once.
    """
    able, notes = rehearsed(bench, contenders)
    broken: dict[str, int] = {}
    cases = [_case(bench, contender, broken) for contender in able]
    samples = interleaved(cases, bench.fewer(ROUNDS_PART), bench.scaled(count), bench.server)
    notes += [f"left out: {name} let {peak} in at once" for name, peak in broken.items()]
    if not broken:
        notes.append("in a contest before each round, every lock excluded")
    return [case for case in cases if case.name not in broken], samples, notes


def _case(bench: BenchmarkRun, contender: ContenderProcesses, broken: dict[str, int]) -> Case:
    def prepare(count: int) -> None:
        del count
        bench.server.clear()
        contest = contender.glimpse(_GLIMPSE_S)
        if contest.overrun and contender.entry in OURS:
            contender.fail(f"it let {contest.peak} in at once")
        if contest.overrun:
            broken[contender.entry.name] = max(contest.peak, broken.get(contender.entry.name, 0))

    def work(count: int) -> Taken:
        answer = contender.order("cycle", count=count)
        return Taken(answer["wall_s"], answer["cpu_s"])

    return Case(contender.entry.name, work, prepare, contender.entry.share)
