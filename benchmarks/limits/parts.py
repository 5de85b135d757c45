"""The tables of rate limiters, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table


def _decisions(bench: BenchmarkRun) -> Iterator[Table]:
    from . import decisions  # The rivals come with the extra `bench`.

    return decisions.run(bench)


def _exactness(bench: BenchmarkRun) -> Iterator[Table]:
    from . import exactness

    return exactness.run(bench)


def _memory(bench: BenchmarkRun) -> Iterator[Table]:
    from . import memory

    return memory.run(bench)


PARTS: Final[Mapping[str, Callable[[BenchmarkRun], Iterator[Table]]]] = {
    "decisions": _decisions,
    "exactness": _exactness,
    "memory": _memory,
}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure all parts."""
    for part in PARTS.values():
        yield from part(bench)
