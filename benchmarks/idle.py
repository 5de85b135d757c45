"""What a worker with nothing to do asks of the server."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from holdfast import Holdfast, TaskRegistry

from .harness import Bench
from .monitor import watched
from .report import Cell, Table, Target

WATCH_S: Final = 40.0
"""Twice the longest interval of an idle worker, so that each of its habits shows."""

SETTLE_S: Final = 3.0
"""Connecting, subscribing and the first step are not idleness."""

TARGET: Final = 2.0
"""Commands per second, those inside scripts included, for a worker with one queue."""


def run(bench: Bench) -> Iterator[Table]:
    """Measure one worker of one queue, without any task."""
    bench.server.clear()
    watch_s = bench.scaled(round(WATCH_S))
    with Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf, _working(hf):
        time.sleep(SETTLE_S)
        client_s = time.process_time()
        total, seen = watched(bench.server, watch_s)
        client_s = time.process_time() - client_s
    rows: list[list[Cell]] = [
        ["all, those inside scripts included", total / watch_s],
        ["sent by the worker", sum(n for (_, inside), n in seen.items() if not inside) / watch_s],
    ]
    for (name, inside), times in seen.most_common():
        rows.append([f"  {name}{', inside a script' if inside else ''}", times / watch_s])
    rows.append(["client CPU, ms", client_s * 1000 / watch_s])
    yield Table(
        f"an idle worker of one queue, {watch_s} s",
        ("at the server", "per second"),
        rows,
        [Target("commands per second at the server", total / watch_s, TARGET, at_least=False)],
    )


@contextmanager
def _working(hf: Holdfast) -> Iterator[None]:
    """Run a worker of one queue in a thread within the context."""
    tasks = TaskRegistry()
    tasks.task(queue="idle")(_nothing)
    worker = hf.worker(tasks)
    thread = threading.Thread(target=worker.run, name="idle worker")
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()


def _nothing() -> None:
    """Do nothing: this task is never enqueued."""
