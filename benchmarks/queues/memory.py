"""What a waiting task takes of the server's memory.

The server's `used_memory` with so many queued tasks, less what it was before with the same
connections: so keys, list nodes and the slack of hash tables count, just as they are there. The
task has one number as its argument; what Holdfast stores of it has an id of about 20 bytes and
an envelope of about 60. Rivals get the same argument, and what they put around it is theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import redis

from ..harness import BenchmarkRun
from ..orders import ContenderFailed
from ..report import Cell, Table, Target
from .contender_processes import running_contenders
from .lineup import (
    ARQ,
    BARE,
    CELERY_THREADS,
    DRAMATIQ,
    HOLDFAST,
    HUEY,
    PACKAGES,
    RQ,
    SAQ,
    SEED,
    TASKIQ,
    Entry,
    chosen,
)

TASKS: Final = 100_000

RIVALS_PART: Final = 8
"""Rivals get so many times fewer tasks, which fill their hash tables to the same degree."""

TARGET_BYTES: Final = 130

_WARMING: Final = 200

BODIES: Final = "*:bodies"
"""The hash where Holdfast keeps envelopes (docs/wire.md)."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure each contender once: this hardly varies."""
    rivals = (HUEY, TASKIQ, ARQ, DRAMATIQ, SAQ, RQ, CELERY_THREADS)
    entries = chosen(bench, [HOLDFAST, SEED, *rivals, BARE])
    ours, notes = 0.0, []
    rows: list[list[Cell]] = []
    for entry in entries:
        tasks = bench.scaled(TASKS)
        if entry.adapter in PACKAGES:
            tasks //= RIVALS_PART
        try:
            per_task = _bytes_per_task(bench, entry, tasks)
        except ContenderFailed as failure:
            notes.append(f"left out: {failure}")
            continue
        rows.append([entry.name, tasks, per_task])
        if entry is HOLDFAST:
            ours = per_task
            notes.append(f"a stored envelope of Holdfast: {_envelope_bytes(bench)} bytes")
    targets = [Target("bytes per task", ours, TARGET_BYTES, at_least=False)]
    columns = ("case", "tasks in line", "bytes per task")
    yield Table("server memory of a waiting task", columns, rows, targets, notes)


def _bytes_per_task(bench: BenchmarkRun, entry: Entry, tasks: int) -> float:
    with running_contenders(bench, [entry], tasks) as (contender,):
        contender.order("many", count=_WARMING)  # connects, and has the server learn its scripts
        bench.server.clear()
        before = bench.server.memory()
        contender.order("many", count=tasks)
        return (bench.server.memory() - before) / tasks


def _envelope_bytes(bench: BenchmarkRun) -> int:
    """Return the size of a stored envelope."""
    with redis.Redis.from_url(bench.server.url) as client:
        key = next(client.scan_iter(BODIES, count=1_000))
        task: Any = client.hrandfield(key, 1, withvalues=True)
    return len(task[1])
