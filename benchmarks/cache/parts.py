"""The tables of cached functions, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table


def _hits(bench: BenchmarkRun) -> Iterator[Table]:
    from . import hits  # The rivals come with the extra `bench`.

    return hits.run(bench)


def _near(bench: BenchmarkRun) -> Iterator[Table]:
    from . import near

    return near.run(bench)


def _stampede(bench: BenchmarkRun) -> Iterator[Table]:
    from . import stampede

    return stampede.run(bench)


def _tags(bench: BenchmarkRun) -> Iterator[Table]:
    from . import tags

    return tags.run(bench)


PARTS: Final[Mapping[str, Callable[[BenchmarkRun], Iterator[Table]]]] = {
    "hits": _hits,
    "near": _near,
    "stampede": _stampede,
    "tags": _tags,
}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure all parts."""
    for part in PARTS.values():
        yield from part(bench)
