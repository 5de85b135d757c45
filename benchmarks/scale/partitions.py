"""What a queue with partitions costs the primaries of a cluster, and how they share the work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from holdfast import Holdfast, TaskRegistry

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target
from .cluster import Cluster, clustered

SHAPES: Final = ((1, 1), (1, 12), (3, 12), (6, 12), (6, 24))
"""Primaries of the cluster, and partitions of the queue."""

TASKS: Final = 10_000
SINGLE: Final = 2_000

IDLE_S: Final = 2.0

MOST: Final = 0.3
"""Share of the work that the busiest of six primaries may have, with 24 partitions."""

tasks = TaskRegistry()


@tasks.task(queue="spread")
async def nothing() -> None:
    """Do nothing."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Enqueue and run tasks of one queue on clusters of several sizes."""
    rows: list[list[Cell]] = []
    targets = []
    for primaries, partitions in SHAPES:
        with clustered(primaries) as cluster:
            single, many, ran = _measured(cluster, bench, partitions)
        total = sum(single[0]), sum(many[0]), sum(ran[0])
        busiest = max(single[0]) / total[0]
        cost = [sum(cpu) * 1e6 / count for cpu, count in (single, many, ran)]
        rows.append([f"{primaries} · {partitions}", *cost, busiest, max(ran[0]) / total[2]])
        if (primaries, partitions) == (6, 24):
            what = "share of the busiest of 6 primaries, 24 partitions"
            targets.append(Target(what, busiest, MOST, at_least=False))
    columns = (
        *("primaries · partitions", "single enqueue, server µs", "of a bulk, server µs"),
        *("run, server µs", "busiest primary, enqueues", "busiest primary, runs"),
    )
    yield Table("one queue on a cluster", columns, rows, targets)


def _measured(
    cluster: Cluster, bench: BenchmarkRun, partitions: int
) -> list[tuple[list[float], int]]:
    """Return, for each kind of work, the processor seconds of each primary and the tasks.

    What the servers take without work, above all to watch each other, is left out.
    """
    single, many = bench.scaled(SINGLE), bench.scaled(TASKS)
    found = []
    with Holdfast.from_url(cluster.url, namespace="benchmarks") as hf:
        hf.queue("spread", partitions=partitions)

        def enqueue_single() -> None:
            for _ in range(single):
                hf.enqueue(nothing.call())

        def enqueue_many() -> None:
            hf.enqueue_many([nothing.call() for _ in range(many)])

        def run_all() -> None:
            hf.worker(tasks).run(until_idle=True)

        hf.enqueue_many([nothing.call() for _ in range(100 * partitions)])
        run_all()  # connects, and has the servers learn scripts
        idle_s = _idle(cluster)
        for work, count in (
            (enqueue_single, single),
            (enqueue_many, many),
            (run_all, single + many),
        ):
            before, started = cluster.cpu_s(), time.monotonic()
            work()
            after, lasted = cluster.cpu_s(), time.monotonic() - started
            used = zip(before, after, idle_s, strict=True)
            found.append(([max(0.0, b - a - each * lasted) for a, b, each in used], count))
    return found


def _idle(cluster: Cluster) -> list[float]:
    """Return the processor seconds that each primary takes in a second without work."""
    before = cluster.cpu_s()
    time.sleep(IDLE_S)
    return [(b - a) / IDLE_S for a, b in zip(before, cluster.cpu_s(), strict=True)]
