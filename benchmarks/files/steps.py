"""How many calls a file costs beside the chunks themselves, and what memory the server takes."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Final

from holdfast import FileFeed, Holdfast
from holdfast.files.chunk import BLOCK, WINDOW

from ..harness import BenchmarkRun
from ..report import Table, Target
from .sample import Repeated, log_lines

LINES: Final = 2_000_000
CALLS_TARGET: Final = 1.0
"""Calls for 10,000 lines."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Once: this hardly varies."""
    data = log_lines()
    lines = bench.scaled(LINES)
    size = len(data) * lines // data.count(b"\n")
    rows: list[list[str | float]] = []
    for budget in (2**20, 2**26):
        bench.server.clear()
        with Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf:
            feed = hf.file_feed("feed", consumers=["one"], budget=budget)
            feed.publish(Repeated(data, 1), name="first", compress=None)  # scripts are known
            bench.server.forget_statistics()
            memory = bench.server.memory()
            peak = _peak(bench, feed, data, size) - memory
            calls = bench.server.spent_on("evalsha").calls - math.ceil(size / BLOCK / WINDOW)
        rows.append([f"budget of {budget / 2**20:g} MiB", calls / lines * 10_000, peak / 2**20])
    beside = float(rows[-1][1])
    targets = [Target("calls for 10,000 lines", beside, CALLS_TARGET, at_least=False)]
    columns = ("file of log lines, not compressed", "calls / 10,000 lines", "peak MiB")
    title = "calls of a publisher and a consumer beside those with chunks, and memory of the server"
    yield Table(title, columns, rows, targets)


def _peak(bench: BenchmarkRun, feed: FileFeed, data: bytes, size: int) -> int:
    """Publish and read at once: the memory that the server took at most."""
    found: list[int] = [0]
    publishing = threading.Thread(
        target=lambda: feed.publish(Repeated(data, size), name="file", compress=None)
    )
    publishing.start()
    for file in feed.consumer("one").files(timeout=1):
        with file:
            for block in file.blocks():
                file.ack(block.end)
                found[0] = max(found[0], bench.server.memory())
    publishing.join()
    return found[0]
