"""Processor time of the server per operation, and memory per item, from a thousand to a million
(`--largest`).

There is a population of each size, all on one server; each gets the same operations in turn.
What grows with what is stored would show.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import mean, median
from typing import Final

from holdfast import Holdfast

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target
from .populations import KINDS, Population

SIZES: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
QUICK_SIZES: Final = (1_000, 10_000)

FEW: Final = 10
OPERATIONS: Final = 200

OFF_TARGET: Final = 0.2
"""How far from the mean of all sizes the furthest may be."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure a table for each kind of thing."""
    yield from measured(bench, [*KINDS.values()])


def measured(bench: BenchmarkRun, kinds: Sequence[type[Population]]) -> Iterator[Table]:
    """Measure a table for each of *kinds*."""
    for kind in kinds:
        bench.server.clear()
        url = bench.server.url
        with Holdfast.from_url(url, namespace="benchmarks") as hf:
            kind(hf, FEW, url).fill()  # connects, and has the server learn scripts
            largest = min(kind.limit, bench.largest)
            sizes = [size for size in (QUICK_SIZES if bench.quick else SIZES) if size <= largest]
            yield _table(bench, [kind(hf, size, url) for size in sizes])


def _table(bench: BenchmarkRun, populations: Sequence[Population]) -> Table:
    memory = [_memory(bench, population) for population in populations]
    costs = _costs(bench, populations)
    name, operations = populations[0].name, populations[0].operations
    columns = (name, *(f"{operation}, server µs" for operation in operations), "bytes each")
    rows: list[list[Cell]] = [
        [
            f"{population.size:,}",
            *(costs[population.size, operation] for operation in operations),
            each,
        ]
        for population, each in zip(populations, memory, strict=True)
    ]
    targets = [_flat(rows, columns, column) for column in range(1, len(columns))]
    title = f"from {populations[0].size:,} to {populations[-1].size:,} {name}"
    return Table(title, columns, rows, targets, rounds=bench.rounds)


def _memory(bench: BenchmarkRun, population: Population) -> float:
    """Bytes of each, with its share of what all of them have in common."""
    before = bench.server.memory()
    population.fill()
    return (bench.server.memory() - before) / population.size


def _costs(bench: BenchmarkRun, populations: Sequence[Population]) -> dict[tuple[int, str], float]:
    """Size and operation → microseconds of one: the median of the rounds, the first left out."""
    taken = defaultdict[tuple[int, str], list[float]](list)
    for _ in range(bench.rounds + 1):
        for population in populations:
            for name, work in population.operations.items():
                before = bench.server.usage().cpu_s
                work(OPERATIONS)
                spent = bench.server.usage().cpu_s - before
                taken[population.size, name].append(spent / OPERATIONS * 1e6)
    return {case: median(spent[1:]) for case, spent in taken.items()}


def _flat(rows: list[list[Cell]], columns: tuple[str, ...], column: int) -> Target:
    values = [float(str(row[column])) for row in rows]
    middle = mean(values)
    furthest = max(abs(value - middle) for value in values) / middle
    return Target(
        f"{columns[column]}: furthest from the mean", furthest, OFF_TARGET, at_least=False
    )
