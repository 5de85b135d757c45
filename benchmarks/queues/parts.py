"""The tables of the task queue, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table
from . import (
    enqueue,
    events,
    groups,
    latency,
    many_queues,
    memory,
    processes,
    recovery,
    schedules,
    step,
    steps,
    tenants,
    throughput,
)

PARTS: Final[Mapping[str, Callable[[BenchmarkRun], Iterator[Table]]]] = {
    "throughput": throughput.run,
    "enqueue": enqueue.run,
    "latency": latency.run,
    "recovery": recovery.run,
    "memory": memory.run,
    "queues": many_queues.run,
    "step": step.run,
    "processes": processes.run,
    "schedules": schedules.run,
    "tenants": tenants.run,
    "events": events.run,
    "groups": groups.run,
    "steps": steps.run,
}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure all parts."""
    for part in PARTS.values():
        yield from part(bench)
