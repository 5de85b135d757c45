"""Measures cases against each other: interleaved rounds of a fixed amount of work.

On a shared machine the speed of everything changes from second to second. So the cases run A B C
A B C …, each round is short, a ratio is taken between neighbours in time, and only medians count.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

from .report import Cell, Range, Table, Target
from .server import OWN_COMMANDS, Server

_QUICKER: Final = 5
"""`--quick` divides the work of a round by this."""


def _nothing() -> None:
    """No preparation."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way to do the work.

    Attributes:
        name: for people to read.
        work: does so many operations, and returns when they are done.
        prepare: is run before each round, unmeasured.
    """

    name: str
    work: Callable[[int], object]
    prepare: Callable[[], object] = _nothing


@dataclass(frozen=True, slots=True)
class Sample:
    """One round of one case, per operation.

    Attributes:
        wall_s: time on the clock.
        client_s: processor time of this process, all its threads.
        server_s: processor time of the server.
        commands: which the server ran, those inside scripts included.
    """

    wall_s: float
    client_s: float
    server_s: float
    commands: float


@dataclass(frozen=True, slots=True)
class Bench:
    """What a benchmark is given.

    Attributes:
        server: what to talk to.
        rounds: of each case, after one more that warms up.
        quick: less work in a round, for a look.
    """

    server: Server
    rounds: int
    quick: bool

    def scaled(self, count: int) -> int:
        """*count*, or a part of it when it has to be quick."""
        return max(1, count // _QUICKER) if self.quick else count

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
        rows = [_row(case, samples[case.name]) for case in cases]
        targets = []
        for row, rival in zip(rows[1:], rivals, strict=True):
            ratio = ratios(samples[rival.name], samples[subject.name])
            row.append(ratio)
            if target is not None and rival is rivals[0]:
                targets.append(
                    Target(f"{subject.name} ÷ {rival.name}", ratio.middle, target, at_least=True)
                )
        rows[0].append(None)
        return Table(title, _COLUMNS, rows, targets)


_COLUMNS: Final = (
    "case",
    "rate/s",
    "spread",
    "client µs",
    "server µs",
    "commands",
    "ours ÷ this",
)


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
    case.prepare()
    gc.collect()  # so that no case pays for the garbage of another
    before = server.usage()
    client_s, wall_s = time.process_time(), time.perf_counter()
    case.work(count)
    wall_s, client_s = time.perf_counter() - wall_s, time.process_time() - client_s
    after = server.usage()
    commands = after.commands - before.commands - OWN_COMMANDS
    return Sample(
        wall_s / count,
        client_s / count,
        (after.cpu_s - before.cpu_s) / count,
        commands / count,
    )


def ratios(theirs: Sequence[Sample], ours: Sequence[Sample]) -> Range:
    """How many times as fast *ours* was, round by round."""
    return spread_of([a.wall_s / b.wall_s for a, b in zip(theirs, ours, strict=True)])


def spread_of(values: Sequence[float]) -> Range:
    """The median of *values*, and the half of them that lies around it."""
    if len(values) < 2:
        return Range(values[0], values[0], values[0])
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return Range(low, middle, high)


def _row(case: Case, samples: Sequence[Sample]) -> list[Cell]:
    rates = [1 / sample.wall_s for sample in samples]
    return [
        case.name,
        median(rates),
        (max(rates) - min(rates)) / median(rates),
        median(sample.client_s for sample in samples) * 1e6,
        median(sample.server_s for sample in samples) * 1e6,
        median(sample.commands for sample in samples),
    ]
