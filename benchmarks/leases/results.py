"""Rounds of contests between contenders, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from ..harness import BenchmarkRun, Case, Sample, Taken, interleaved, ratios
from ..report import Cell, Table, Target
from .contender_processes import ContenderProcesses
from .contest import Contest
from .lineup import BARE

COLUMNS: Final = (
    "case",
    "cycles/s",
    "spread",
    "wait p50 ms",
    "p99 ms",
    "max ms",
    "max ÷ min",
    "inside",
    "reads",
    "commands",
    "client µs",
    "server µs",
    "ours ÷ this",
)


@dataclass(frozen=True, slots=True)
class Results:
    """All rounds of all contenders of a table; ours is the first case.

    Attributes:
        cases: in the order of the table.
        samples: by the names of the cases.
        contests: the same rounds.
    """

    cases: Sequence[Case]
    samples: Mapping[str, Sequence[Sample]]
    contests: Mapping[str, Sequence[Contest]]

    @property
    def honest(self) -> list[str]:
        """Rivals that never let too many in, the fastest first."""
        names = [case.name for case in self.cases[1:] if case.name != BARE.name]
        kept = [name for name in names if not any(one.overrun for one in self.contests[name])]
        return sorted(kept, key=self.rate, reverse=True)

    def rate(self, name: str) -> float:
        """Cycles per second."""
        return 1 / median(one.wall_s for one in self.samples[name])

    def typical(self, what: str, name: str | None = None) -> float:
        """Return the median over rounds of the attribute *what* of a contest, ours by default."""
        taken = self.contests[name or self.cases[0].name]
        return float(median(getattr(one, what) for one in taken))

    def times_as_fast(self, rival: str, limit: float) -> Target:
        """Return the target: ours has *limit* times the rate of *rival*."""
        ours = self.cases[0].name
        ratio = ratios(self.samples[rival], self.samples[ours]).middle
        return Target(f"{ours} ÷ {rival}", ratio, limit, at_least=True)

    def table(self, title: str, targets: Sequence[Target], notes: Sequence[str]) -> Table:
        """Return the results as a table."""
        rows = [self._row(case.name, subject=case is self.cases[0]) for case in self.cases]
        rounds = len(self.contests[self.cases[0].name])
        return Table(title, COLUMNS, rows, targets, [*self._verdicts(), *notes], rounds)

    def _row(self, name: str, *, subject: bool) -> list[Cell]:
        samples, contests = self.samples[name], self.contests[name]
        rates = [1 / one.wall_s for one in samples]
        clients = [one.client_s for one in samples if one.client_s is not None]
        return [
            name,
            median(rates),
            (max(rates) - min(rates)) / median(rates),
            self.typical("p50_ms", name),
            self.typical("p99_ms", name),
            self.typical("longest_ms", name),
            self.typical("inequality", name),
            max(one.peak for one in contests),
            median(one.reads for one in samples),
            median(one.commands for one in samples),
            median(clients) * 1e6,
            median(one.server_s for one in samples) * 1e6,
            None if subject else ratios(samples, self.samples[self.cases[0].name]),
        ]

    def _verdicts(self) -> list[str]:
        broken = [
            f"BROKEN: {name} let {max(one.peak for one in contests)} in at once "
            f"in {sum(one.overrun for one in contests)} of {len(contests)} rounds; no rival"
            for name, contests in self.contests.items()
            if any(one.overrun for one in contests)
        ]
        return broken or ["no lock or semaphore let too many in"]


def contested(
    bench: BenchmarkRun,
    contenders: Sequence[ContenderProcesses],
    rounds: int,
    contest: Callable[[ContenderProcesses], Contest],
) -> Results:
    """Have *contenders* hold their contests in turn, round after round; the first one warms up."""
    contests: dict[str, list[Contest]] = {contender.entry.name: [] for contender in contenders}

    def case(contender: ContenderProcesses) -> Case:
        def work(count: int) -> Taken:
            del count  # the time is fixed
            found = contest(contender)
            contests[contender.entry.name].append(found)
            return found.taken()

        return Case(contender.entry.name, work, lambda _: bench.server.clear())

    cases = [case(contender) for contender in contenders]
    samples = interleaved(cases, rounds, 1, bench.server)
    return Results(cases, samples, {name: held[1:] for name, held in contests.items()})
