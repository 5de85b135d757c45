"""The tables of rate limiters, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..harness import Bench
from ..report import Table


def _decisions(bench: Bench) -> Iterator[Table]:
    from . import decisions  # The rivals come with the extra `bench`.

    return decisions.run(bench)


def _exactness(bench: Bench) -> Iterator[Table]:
    from . import exactness

    return exactness.run(bench)


def _memory(bench: Bench) -> Iterator[Table]:
    from . import memory

    return memory.run(bench)


PARTS: Final[Mapping[str, Callable[[Bench], Iterator[Table]]]] = {
    "decisions": _decisions,
    "exactness": _exactness,
    "memory": _memory,
}


def run(bench: Bench) -> Iterator[Table]:
    """Measure all parts."""
    for part in PARTS.values():
        yield from part(bench)
