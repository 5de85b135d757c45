"""The tables of locks and semaphores, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table
from . import contended, cycles, idle, many, semaphore

PARTS: Final[Mapping[str, Callable[[BenchmarkRun], Iterator[Table]]]] = {
    "cycles": cycles.run,
    "contended": contended.run,
    "many": many.run,
    "semaphore": semaphore.run,
    "idle": idle.run,
}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure all parts."""
    for part in PARTS.values():
        yield from part(bench)
