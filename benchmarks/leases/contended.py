"""Sixteen who want the same lock all the time: how often it changes hands, and who waits how long.

Sixteen processes; and for comparison sixteen threads of one process, where Holdfast's share a
client and everybody pays for the interpreter lock. A round lasts a fixed time, so that everybody's
luck shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..harness import BenchmarkRun
from ..report import Table, Target
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .lineup import BARE, HOLDFAST, LOCKS, chosen
from .results import Results, contested

WAITERS: Final = 16

ROUND_S: Final = 1.0
LONG_ROUND_S: Final = 2.0
"""With few cycles a second."""

HOLD_S: Final = 0.002

ROUNDS_PART: Final = 6
LONG_ROUNDS_PART: Final = 10

RATE_TARGET: Final = 1.5
P99_TARGET: Final = 0.25
INEQUALITY_TARGET: Final = 1.1
EVEN: Final = 3.0
"""Rivals who share the lock less equally than that are also left out, in a note."""
IDEAL_TARGET: Final = 0.85


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Processes with no hold and with a short one, then threads."""
    entries = chosen(bench, [HOLDFAST, *LOCKS, BARE])
    with running_contenders(bench, entries, processes=WAITERS) as opened:
        able, notes = rehearsed(bench, opened)
        yield _at_once(bench, able, f"{WAITERS} processes, one lock, hold 0", notes)
        yield _held(bench, able, notes)
    with running_contenders(bench, entries, callers=WAITERS) as opened:
        able, notes = rehearsed(bench, opened)
        yield _at_once(bench, able, f"{WAITERS} threads of one process, one lock, hold 0", notes)


def _at_once(
    bench: BenchmarkRun, contenders: Sequence[ContenderProcesses], title: str, notes: Sequence[str]
) -> Table:
    rounds = bench.fewer(ROUNDS_PART)
    results = contested(bench, contenders, rounds, lambda contender: contender.contest(ROUND_S))
    targets = [_equal(results)]
    if rivals := results.honest:
        p99_ms, rival = min((results.typical("p99_ms", name), name) for name in rivals)
        share = results.typical("p99_ms") / p99_ms
        notes = [*notes, *_among_the_even(results)]
        targets = [
            results.times_as_fast(rivals[0], RATE_TARGET),
            Target(f"p99 ÷ that of {rival}", share, P99_TARGET, at_least=False),
            *targets,
        ]
    return results.table(title, targets, notes)


def _held(
    bench: BenchmarkRun, contenders: Sequence[ContenderProcesses], notes: Sequence[str]
) -> Table:
    rounds = bench.fewer(LONG_ROUNDS_PART)
    results = contested(
        bench, contenders, rounds, lambda contender: contender.contest(LONG_ROUND_S, hold_s=HOLD_S)
    )
    share = results.rate(HOLDFAST.name) * HOLD_S
    ideal = Target("share of the ideal rate", share, IDEAL_TARGET, at_least=True)
    title = f"{WAITERS} processes, one lock, hold {HOLD_S * 1000:g} ms, ideal {1 / HOLD_S:g}/s"
    return results.table(title, [ideal, _equal(results)], notes)


def _among_the_even(results: Results) -> list[str]:
    """Return the fairest rivals: a rival that lets one waiter keep the lock is fast, but unfair."""
    even = [name for name in results.honest if results.typical("inequality", name) <= EVEN]
    if not even:
        return [f"there is no rival with max ÷ min within {EVEN:g}"]
    rate = results.rate(HOLDFAST.name) / results.rate(even[0])
    p99 = results.typical("p99_ms") / results.typical("p99_ms", even[0])
    best = f"the best rival with max ÷ min within {EVEN:g} is {even[0]}"
    return [f"{best}: ours has {rate:.2f} times its rate, {p99:.2f} times its p99"]


def _equal(results: Results) -> Target:
    value = results.typical("inequality")
    return Target("acquisitions, max ÷ min", value, INEQUALITY_TARGET, at_least=False)
