"""Sixteen processes, five places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table
from .contended import LONG_ROUND_S, LONG_ROUNDS_PART, ROUND_S, ROUNDS_PART, WAITERS
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .lineup import HOLDFAST, SEED_BASIC, SEED_FAIR, SEED_LOCKED
from .results import contested

LIMIT: Final = 5
HOLD_S: Final = 0.005

RATE_TARGET: Final = 8.0
"""Times the textbook's only one that keeps its limit."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure without a hold, and with a short one."""
    entries = [HOLDFAST, SEED_LOCKED, SEED_FAIR, SEED_BASIC]
    with running_contenders(bench, entries, processes=WAITERS) as opened:
        able, notes = rehearsed(bench, opened, LIMIT)
        yield _at_once(bench, able, notes)
        yield _held(bench, able, notes)


def _at_once(
    bench: BenchmarkRun, contenders: Sequence[ContenderProcesses], notes: Sequence[str]
) -> Table:
    results = contested(
        bench,
        contenders,
        bench.fewer(ROUNDS_PART),
        lambda contender: contender.contest(ROUND_S, limit=LIMIT),
    )
    target = results.times_as_fast(SEED_LOCKED.name, RATE_TARGET)
    return results.table(f"{WAITERS} processes, {LIMIT} places, hold 0", [target], notes)


def _held(
    bench: BenchmarkRun, contenders: Sequence[ContenderProcesses], notes: Sequence[str]
) -> Table:
    results = contested(
        bench,
        contenders,
        bench.fewer(LONG_ROUNDS_PART),
        lambda contender: contender.contest(LONG_ROUND_S, hold_s=HOLD_S, limit=LIMIT),
    )
    ideal = LIMIT / HOLD_S
    title = f"{WAITERS} processes, {LIMIT} places, hold {HOLD_S * 1000:g} ms, ideal {ideal:,g}/s"
    share = f"ours has {results.rate(HOLDFAST.name) / ideal:.0%} of the ideal rate"
    return results.table(title, [], [share, *notes])
