"""Two hundred requests per second of five kinds, beside a worker: waits, failures and CPU.

Then the same while the server stops for a second. Nothing is lost then, as it may be in a failover.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any, Final

from ..harness import BenchmarkRun
from ..orders import ControlledProcess, ProcessLauncher, kill
from ..report import Cell, Table
from ..server import Server
from ..stopwatch import cpu_s_of
from ..venvs import ROOT, interpreter
from .load import KINDS

RATE: Final = 200.0
REQUESTS: Final = 12_000
PAUSE_S: Final = 1.0
WARMING: Final = 400

NAMES: Final[Mapping[str, str]] = {
    "holdfast": "holdfast",
    "others": "redis-py, Celery, dogpile.cache",
}
PACKAGES: Final = (
    *("celery==5.7.0", "packaging==26.3", "dogpile.cache==1.5.0"),
    *("redis==8.1.0", "hiredis==3.5.0"),
)


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure each library once with each situation, a minute each."""
    names = [name for name in NAMES if name == "holdfast" or "celery" in bench.rivals]
    count = bench.scaled(REQUESTS)
    costs: list[list[Cell]] = []
    for pauses, title in ((False, ""), (True, f", the server stops for {PAUSE_S:g} s")):
        rows: list[list[Cell]] = []
        for name in names:
            answer, cost = _served(bench, name, count, pauses=pauses)
            rows += _rows(NAMES[name], answer)
            if not pauses:
                costs.append([NAMES[name], *cost])
        columns = ("case", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "failed")
        yield Table(f"{RATE:g} requests per second{title}", columns, rows)
    columns = ("case", "service, CPU s", "worker, CPU s", "server, CPU s")
    yield Table("1,000 requests and their tasks", columns, costs)


def _served(
    bench: BenchmarkRun, name: str, count: int, *, pauses: bool
) -> tuple[dict[str, Any], list[float]]:
    """Return the answer of the service, and the CPU seconds of 1,000 requests."""
    bench.server.clear()
    python = interpreter(f"mixed-{name}", None if name == "holdfast" else PACKAGES)
    command: list[str | Path] = [python, "-m", f"benchmarks.mixed.contenders.{name}"]
    with TemporaryDirectory(prefix="holdfast-bench-") as folder:
        launcher = ProcessLauncher(NAMES[name], ROOT, {}, Path(folder) / "output")
        service = ControlledProcess(launcher, [*command, "serve", bench.server.url])
        worker = launcher.start([*command, "work", bench.server.url], orders=False)
        try:
            service.order("serve", count=WARMING, rate=RATE)
            before = bench.server.usage().cpu_s, cpu_s_of(worker.pid)
            if pauses:
                threading.Timer(count / RATE / 2, _pause, [bench.server]).start()
            answer = service.order("serve", count=count, rate=RATE)
            after = bench.server.usage().cpu_s, cpu_s_of(worker.pid)
        finally:
            service.kill()
            kill(worker)
    spent = answer["cpu_s"], after[1] - before[1], after[0] - before[0]
    return answer, [seconds / count * 1000 for seconds in spent]


def _pause(server: Server) -> None:
    os.kill(server.pid, signal.SIGSTOP)
    time.sleep(PAUSE_S)
    os.kill(server.pid, signal.SIGCONT)


def _rows(name: str, answer: Mapping[str, Any]) -> Iterator[list[Cell]]:
    for kind in KINDS:
        waits = answer["waits_ms"][kind]
        cuts = quantiles(waits, n=1000, method="inclusive")
        figures = cuts[499], cuts[989], cuts[998], max(waits)
        yield [f"{name}: {kind}", *figures, answer["failed"][kind]]
