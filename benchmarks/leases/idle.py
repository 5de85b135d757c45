"""What one who waits for a lock asks of the server while nothing happens.

Another process has the lock all the time, under a lease so long that its renewals do not show.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from ..harness import BenchmarkRun
from ..monitor import watched
from ..report import Cell, Table, Target
from .contender_processes import ContenderProcesses, rehearsed, running_contenders
from .lineup import LOCKS, OURS, chosen

WATCH_S: Final = 20
RIVAL_WATCH_S: Final = 4
"""Rivals do the same over and over."""

SETTLE_S: Final = 2.0
"""Connecting, subscribing and queueing do not count as idle."""

LEASE_S: Final = 600

TARGET: Final = 2.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one holder and one waiter, a process each."""
    rows: list[list[Cell]] = []
    targets, notes = [], []
    for entry in chosen(bench, [*OURS, *LOCKS]):
        ours = entry in OURS
        watch_s = bench.scaled(WATCH_S) if ours else RIVAL_WATCH_S
        # One contender at a time: also its idle connections count.
        with running_contenders(bench, [entry], processes=2, lease_s=LEASE_S) as opened:
            able, failures = rehearsed(bench, opened)
            notes += failures
            for contender in able:
                row, per_s = _watched(bench, contender, watch_s)
                rows.append(row)
                if ours:
                    what = f"commands per second, {entry.name}"
                    targets.append(Target(what, per_s, TARGET, at_least=False))
    columns = ("case", "commands/s", "client µs/s", "which, per second")
    notes += [f"lease {LEASE_S} s: a shorter one adds renewals by the holder, and by BLPOP"]
    yield Table("one waits for a lock that another process holds", columns, rows, targets, notes)


def _watched(
    bench: BenchmarkRun, contender: ContenderProcesses, watch_s: int
) -> tuple[list[Cell], float]:
    """Return the row of *contender*, and its commands per second."""
    bench.server.clear()
    holder, waiter = contender.processes
    holder.order("keep")
    waiter.send("visit")
    began_s = time.monotonic()
    time.sleep(SETTLE_S)
    total, seen = watched(bench.server, watch_s)
    holder.order("let_go")
    cpu_s = waiter.answer()["cpu_s"]
    waited_s = time.monotonic() - began_s
    which = ", ".join(
        f"{name}{' in a script' if inside else ''} {times / watch_s:.2f}"
        for (name, inside), times in seen.most_common()
    )
    return [contender.entry.name, total / watch_s, cpu_s / waited_s * 1e6, which], total / watch_s
