"""What one idle subject takes of the server's memory: MEMORY USAGE of all its keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import redis

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target
from .contenders import BLOCKING

SUBJECTS: Final = 100
TARGET: Final = 120


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure subjects that have passed once each."""
    rows: list[list[Cell]] = []
    for name, make in BLOCKING.items():
        bench.server.clear()
        with ExitStack() as ending:
            client = ending.enter_context(redis.Redis.from_url(bench.server.url))
            ask = make(bench.server.url, 100, 600, ending)
            for n in range(SUBJECTS):
                ask(f"user:{n}")
            keys = [key for key in client.scan_iter(count=1000) if b"user" in key]
            rows.append([name, sum(int(client.memory_usage(key) or 0) for key in keys) / SUBJECTS])
    used = rows[0][1]
    assert isinstance(used, float)
    target = Target("holdfast, bytes per idle subject", used, TARGET, at_least=False)
    yield Table("memory of an idle subject", ("case", "bytes"), rows, [target])
