"""What refreshers ask of the server while nothing is due, and how late they are then."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, Final

from holdfast import Holdfast

from ..harness import BenchmarkRun
from ..report import Table, Target
from ..server import OWN_COMMANDS

QUIET_S: Final = 15.0
WAKES: Final = 100


class _Clocked:
    """A source that notes when it is asked."""

    def __init__(self) -> None:
        self.due_at = 0.0
        self.late_ms: list[float] = []
        self.asked = threading.Event()

    def load(self, ids: Sequence[Any]) -> dict[Any, Any]:
        """Any row."""
        self.late_ms.append((time.monotonic() - self.due_at) * 1000)
        self.asked.set()
        return {row_id: {"n": 1} for row_id in ids}


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one refresher of one shard, and of sixteen."""
    rows: list[list[Any]] = []
    for shards in (1, 16):
        bench.server.clear()
        with Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf:
            rows.append([f"{shards} shards", *_measured(bench, hf, shards)])
    yield Table(
        "an idle refresher",
        ("case", "commands/s", "late p50 ms", "late p99 ms"),
        rows,
        [
            Target("commands per second", max(row[1] for row in rows), 1.0, at_least=False),
            Target("p99 of a row that is due, ms", max(row[3] for row in rows), 50, at_least=False),
        ],
    )


def _measured(bench: BenchmarkRun, hf: Holdfast, shards: int) -> list[float]:
    source = _Clocked()
    cache = hf.row_cache("stock", source=source, shards=shards)
    thread = threading.Thread(target=cache.run)
    thread.start()
    for n in range(bench.scaled(WAKES)):
        time.sleep(0.02)
        source.asked.clear()
        source.due_at = time.monotonic()
        cache.schedule(n, every=100_000)
        source.asked.wait(10)
    late_ms = sorted(source.late_ms)
    time.sleep(1)
    before, quiet_s = bench.server.usage(), QUIET_S / (5 if bench.quick else 1)
    time.sleep(quiet_s)
    after = bench.server.usage()
    cache.stop()
    thread.join()
    commands = (after.commands - before.commands - OWN_COMMANDS) / quiet_s
    return [commands, median(late_ms), late_ms[int(len(late_ms) * 0.99)]]
