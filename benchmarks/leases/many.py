"""Fifty coroutines of one process, each with an uncontended lock of its own.

That the locks exclude anybody is seen before each round: then some of them want the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..harness import BenchmarkRun, best, comparison
from ..report import Table
from .contender_processes import running_contenders
from .cycles import cycled
from .lineup import (
    HOLDFAST_ASYNCIO,
    POTTERY_ASYNCIO,
    REDIS_PY_ASYNCIO,
    REDIS_PY_ASYNCIO_EACH,
    chosen,
)

COROUTINES: Final = 50
CYCLES: Final = 4_000

TARGET: Final = 6.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Holdfast beside those that have a lock for asyncio."""
    rivals = [REDIS_PY_ASYNCIO, REDIS_PY_ASYNCIO_EACH, POTTERY_ASYNCIO]
    with running_contenders(
        bench, chosen(bench, [HOLDFAST_ASYNCIO, *rivals]), callers=COROUTINES
    ) as opened:
        cases, samples, notes = cycled(bench, opened, CYCLES)
    targets = [best(samples, cases[0], cases[1:], TARGET)]
    title = f"{COROUTINES} coroutines, a lock each"
    yield comparison(title, samples, cases[0], cases[1:], targets, notes)
