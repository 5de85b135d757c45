"""The tables of rate limiters, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..harness import Bench
from ..report import Table
from . import decisions, exactness, memory

PARTS: Final[Mapping[str, Callable[[Bench], Iterator[Table]]]] = {
    "decisions": decisions.run,
    "exactness": exactness.run,
    "memory": memory.run,
}


def run(bench: Bench) -> Iterator[Table]:
    """Measure all parts."""
    for part in PARTS.values():
        yield from part(bench)
