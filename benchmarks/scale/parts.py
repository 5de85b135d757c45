"""The tables of scale, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table
from . import flat, partitions, spread
from .populations import KINDS

PARTS: Final[Mapping[str, Callable[[BenchmarkRun], Iterator[Table]]]] = {
    "flat": flat.run,
    **{f"flat:{name}": partial(flat.measured, kinds=[kind]) for name, kind in KINDS.items()},
    "spread": spread.run,
    "partitions": partitions.run,
}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure all parts."""
    for part in (flat.run, spread.run, partitions.run):
        yield from part(bench)
