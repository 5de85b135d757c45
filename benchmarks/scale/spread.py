"""Whether the primaries of a cluster share the work: the processor time of each."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Final

from holdfast import Holdfast

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target
from .cluster import Cluster, clustered

PRIMARIES: Final = (1, 2, 3)
UNITS: Final = 1_000
TIMES: Final = 5

OFF_TARGET: Final = 0.15


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure a thousand of everything on one, two and three primaries."""
    rows: list[list[Cell]] = []
    targets = []
    for primaries in PRIMARIES:
        with clustered(primaries) as cluster:
            shares = _shares(cluster, bench.scaled(UNITS))
        middle = mean(shares)
        furthest = max(abs(share - middle) for share in shares) / middle
        each = ", ".join(f"{share / sum(shares):.1%}" for share in shares)
        rows.append([f"{primaries} primaries", sum(shares) * 1e6, each, furthest])
        what = f"{primaries} primaries: furthest from the mean"
        targets.append(Target(what, furthest, OFF_TARGET, at_least=False))
    columns = ("cluster of", "server µs per operation", "shares", "furthest from the mean")
    yield Table(f"{UNITS:,} units of each kind on a cluster", columns, rows, targets)


def _shares(cluster: Cluster, units: int) -> list[float]:
    """Processor seconds per operation, of each primary."""
    with Holdfast.from_url(cluster.url, namespace="benchmarks") as hf:
        _work(hf, units)  # connects, and has the servers learn scripts
        before = cluster.cpu_s()
        done = sum(_work(hf, units) for _ in range(TIMES))
        after = cluster.cpu_s()
    return [(b - a) / done for a, b in zip(before, after, strict=True)]


def _work(hf: Holdfast, units: int) -> int:
    """Work with each of so many units of some kinds; return the number of operations."""
    for n in range(units):
        with hf.lock(f"lock-{n}").hold():
            pass
        hf.counter(f"counter-{n}").add()
        hf.mailbox(f"box-{n}").send("hello", sender="a")
        hf.recent(f"recent-{n}").touch("anna")
    return 5 * units
