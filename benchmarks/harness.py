"""Measures cases against each other: interleaved rounds of a fixed amount of work.

On a shared machine the speed of everything changes from second to second. So the cases run A B C
A B C …, each round is short, a ratio is taken between neighbours in time, and only medians count.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

from .report import Cell, Range, Table, Target
from .server import OWN_COMMANDS, Server

MEDIAN_ROUNDS: Final = 7
"""Fewer are no median."""

_QUICKER: Final = 5
"""`--quick` divides the work of a round by this."""


def _nothing(count: int) -> None:
    """Do nothing: no preparation is needed."""
    del count


@dataclass(frozen=True, slots=True)
class Case:
    """One way to do the work.

    Attributes:
        name: for people to read.
        work: does so many operations, and returns when they are done; with a `Taken` if not all of
            its time counts, or if others did the work.
        prepare: gets the same number before each round, unmeasured.
        share: of the operations of a round, for those that would take too long.
    """

    name: str
    work: Callable[[int], object]
    prepare: Callable[[int], object] = _nothing
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Taken:
    """What a work measured by itself.

    Attributes:
        wall_s: time on the clock.
        client_s: processor time of those that worked; None when that is not known.
        lost: operations that were not done.
        repeated: operations that were done more than once.
        done: how many operations there were, where it is the time that was fixed.
    """

    wall_s: float
    client_s: float | None
    lost: int = 0
    repeated: int = 0
    done: int | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One round of one case, per operation.

    Attributes:
        wall_s: time on the clock.
        client_s: processor time of this process, all its threads, or of those that it had work.
        server_s: processor time of the server.
        commands: which the server ran, those inside scripts included.
        reads: of the server from its sockets; about the number of round trips.
        lost: operations of the round that were not done.
        repeated: operations of the round that were done more than once.
    """

    wall_s: float
    client_s: float | None
    server_s: float
    commands: float
    reads: float
    lost: int
    repeated: int


@dataclass(frozen=True, slots=True)
class BenchmarkRun:
    """What a benchmark is given.

    Attributes:
        server: what to talk to.
        rounds: of each case, after one more that warms up.
        quick: less work in a round, for a look.
        rivals: libraries to compare with; their installation needs the network.
        limit_s: what each is given to recover from a killed worker.
        largest: how much is stored at most where costs of sizes are compared.
    """

    server: Server
    rounds: int
    quick: bool
    rivals: frozenset[str] = frozenset()
    limit_s: float = 60.0
    largest: int = 1_000_000

    def scaled(self, count: int) -> int:
        """Return *count*, or a part of it in a quick run."""
        return max(1, count // _QUICKER) if self.quick else count

    def fewer(self, times: int) -> int:
        """Rounds for cases that take so many times as long as others, enough for a median."""
        fewest = 1 if self.quick else min(self.rounds, MEDIAN_ROUNDS)
        return max(fewest, self.rounds // times)

    def compared(
        self,
        title: str,
        subject: Case,
        rivals: Sequence[Case],
        count: int,
        *,
        target: float | None = None,
    ) -> Table:
        """Measure *subject* and its *rivals* in turn.

        Args:
            title: of the table.
            subject: the case that is ours.
            rivals: what it is compared with.
            count: operations in a round.
            target: how many times as fast as the first rival it is to be.
        """
        cases = [subject, *rivals]
        samples = interleaved(cases, self.rounds, self.scaled(count), self.server)
        targets = [] if target is None else [best(samples, subject, rivals[:1], target)]
        return comparison(title, samples, subject, rivals, targets)


_COLUMNS: Final = (
    "case",
    "rate/s",
    "spread",
    "client µs",
    "server µs",
    "commands",
    "reads",
    "ours ÷ this",
)
_COUNTED: Final = ("lost", "twice")


def comparison(
    title: str,
    samples: Mapping[str, Sequence[Sample]],
    subject: Case,
    rivals: Sequence[Case],
    targets: Sequence[Target] = (),
    notes: Sequence[str] = (),
) -> Table:
    """Return the table that compares *subject* with its *rivals*.

    Lost and repeated operations have columns if there are any.
    """
    cases = [subject, *rivals]
    flawed = any(one.lost or one.repeated for case in cases for one in samples[case.name])
    rows = []
    for case in cases:
        taken = samples[case.name]
        ratio = None if case is subject else ratios(taken, samples[subject.name])
        flaws = [sum(one.lost for one in taken), sum(one.repeated for one in taken)]
        rows.append([*_row(case, taken), ratio, *(flaws if flawed else [])])
    columns = (*_COLUMNS, *_COUNTED) if flawed else _COLUMNS
    return Table(title, columns, rows, targets, notes, len(samples[subject.name]))


def best(
    samples: Mapping[str, Sequence[Sample]], subject: Case, rivals: Sequence[Case], target: float
) -> Target:
    """Return the target: *subject* is *target* times as fast as the fastest of *rivals*."""
    rival = min(rivals, key=lambda case: median(one.wall_s for one in samples[case.name]))
    ratio = ratios(samples[rival.name], samples[subject.name])
    return Target(f"{subject.name} ÷ {rival.name}", ratio.middle, target, at_least=True)


def interleaved(
    cases: Sequence[Case], rounds: int, count: int, server: Server
) -> dict[str, list[Sample]]:
    """Run *cases* in turn, round after round; the first round warms up and is not returned."""
    samples: dict[str, list[Sample]] = {case.name: [] for case in cases}
    for _ in range(rounds + 1):
        for case in cases:
            samples[case.name].append(_measured(case, count, server))
    return {name: taken[1:] for name, taken in samples.items()}


def _measured(case: Case, count: int, server: Server) -> Sample:
    count = max(1, round(count * case.share))
    case.prepare(count)
    gc.collect()  # so that no case pays for the garbage of another
    before = server.usage()
    client_s, wall_s = time.process_time(), time.perf_counter()
    taken = case.work(count)
    wall_s, client_s = time.perf_counter() - wall_s, time.process_time() - client_s
    after = server.usage()
    if not isinstance(taken, Taken):
        taken = Taken(wall_s, client_s)
    if taken.done is not None:
        count = taken.done
    return Sample(
        taken.wall_s / count,
        None if taken.client_s is None else taken.client_s / count,
        (after.cpu_s - before.cpu_s) / count,
        (after.commands - before.commands - OWN_COMMANDS) / count,
        (after.reads - before.reads - OWN_COMMANDS) / count,
        taken.lost,
        taken.repeated,
    )


def ratios(theirs: Sequence[Sample], ours: Sequence[Sample]) -> Range:
    """Return how many times as fast *ours* was, round by round."""
    return spread_of([a.wall_s / b.wall_s for a, b in zip(theirs, ours, strict=True)])


def spread_of(values: Sequence[float]) -> Range:
    """Return the median of *values*, and the range of the middle half."""
    if len(values) < 2:
        return Range(values[0], values[0], values[0])
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return Range(low, middle, high)


def _row(case: Case, samples: Sequence[Sample]) -> list[Cell]:
    rates = [1 / sample.wall_s for sample in samples]
    clients = [sample.client_s for sample in samples if sample.client_s is not None]
    return [
        case.name,
        median(rates),
        (max(rates) - min(rates)) / median(rates),
        median(clients) * 1e6 if clients else None,
        median(sample.server_s for sample in samples) * 1e6,
        median(sample.commands for sample in samples),
        median(sample.reads for sample in samples),
    ]
