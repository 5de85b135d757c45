"""What a worker with nothing to do asks of the server."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import redis

from holdfast import Holdfast, TaskRegistry

from .harness import Bench
from .report import Cell, Table, Target
from .server import OWN_COMMANDS, Server

Command = tuple[str, bool]
"""Its name, and whether a script ran it."""

WATCH_S: Final = 40.0
"""Twice the longest interval of an idle worker, so that each of its habits shows."""

SETTLE_S: Final = 3.0
"""Connecting, subscribing and the first step are not idleness."""

TARGET: Final = 2.0
"""Commands per second, those inside scripts included, for a worker with one queue."""


def run(bench: Bench) -> Iterator[Table]:
    """One worker, one queue, no task."""
    bench.server.clear()
    watch_s = bench.scaled(round(WATCH_S))
    with Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf, _working(hf):
        time.sleep(SETTLE_S)
        client_s = time.process_time()
        total, seen = _watched(bench.server, watch_s)
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
    """A worker of one queue in a thread, while the context lasts."""
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
    """A task that never comes."""


def _watched(server: Server, watch_s: float) -> tuple[int, Counter[Command]]:
    """How many commands *server* runs within *watch_s*, and which."""
    seen: Counter[Command] = Counter()
    with redis.Redis.from_url(server.url) as client, client.monitor() as monitor:

        def listen() -> None:
            questions = 0  # ours, before and after
            for entry in monitor.listen():
                name = str(entry["command"]).partition(" ")[0]
                if name == "INFO":
                    questions += 1
                    if questions == 2:
                        return
                elif questions:
                    seen[name, entry["client_type"] == "lua"] += 1

        thread = threading.Thread(target=listen, name="monitor", daemon=True)
        thread.start()
        before = server.usage()
        time.sleep(watch_s)
        after = server.usage()
        thread.join()
    return after.commands - before.commands - OWN_COMMANDS, seen
