"""The tables of messages, each a benchmark of its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table
from . import fetch, memory, send, waiting

PARTS: Final[Mapping[str, Callable[[BenchmarkRun], Iterator[Table]]]] = {
    "send": send.run,
    "fetch": fetch.run,
    "memory": memory.run,
    "waiting": waiting.run,
}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure all parts."""
    for part in PARTS.values():
        yield from part(bench)
