"""The tables of scale, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table
from . import flat, partitions, spread

PARTS: Final[Mapping[str, Callable[[BenchmarkRun], Iterator[Table]]]] = {
    "flat": flat.run,
    "spread": spread.run,
    "partitions": partitions.run,
}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure all parts."""
    for part in PARTS.values():
        yield from part(bench)
