"""What samples take of the server's memory: its `used_memory` less what it was before."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import redis

from holdfast import Holdfast

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target

COUNTERS: Final = 50
PRECISIONS: Final = (1, 5, 60, 300, 3600, 18_000, 86_400)
KEEP: Final = 120

TARGET: Final = 12


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Once: this hardly varies."""
    bench.server.clear()
    with (
        redis.Redis.from_url(bench.server.url) as client,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
    ):
        hf.counter("warm").add()  # connects, and has the server learn scripts
        before, count = bench.server.memory(), bench.scaled(COUNTERS)
        for n in range(count):
            _fill(hf, f"counter-{n}")
        used = bench.server.memory() - before
        chunks = client.scan_iter("benchmarks:{counter:counter-*}:[0-9]*", count=1000)
        stored = sum(client.hlen(key) for key in chunks)  # type: ignore[misc]
    rows: list[list[Cell]] = [
        ["stored sample", used / stored],
        [f"counter of {len(PRECISIONS)} precisions, all samples there", used / count],
    ]
    notes = [f"{stored / count:,.0f} samples of each counter"]
    targets = [Target("bytes per stored sample", used / stored, TARGET, at_least=False)]
    yield Table("server memory", ("what", "bytes each"), rows, targets, notes)


def _fill(hf: Holdfast, name: str) -> None:
    """Write a sample into each kept bucket, of each precision."""
    counter, now = hf.counter(name), time.time()
    for precision in PRECISIONS:
        for n in range(KEEP):
            counter.add(100, at=now - n * precision)
