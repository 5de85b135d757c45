"""Schedules of some seconds: how regularly they fire, what that costs, and what kills do to them.

Each library runs as its documentation says: two workers, and one scheduler process if it has one.
First nothing happens to them. Then one process after the other is killed and started again.

The instants are not known from outside: libraries begin at different times, and some drift. So a
run counts as repeated if the last run of its schedule was less than half an interval ago, and an
interval without a run counts as missed. Holdfast fires the latest missed instant once it can, so a
late run and the next one may be close: then it counts as repeated here, although it is another
instant.
"""

from __future__ import annotations

import itertools
import random
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Final

from ..harness import BenchmarkRun
from ..orders import ProcessLauncher, kill
from ..report import Table
from ..stopwatch import cpu_s_of
from ..venvs import ROOT, interpreter
from .lineup import PACKAGES
from .schedulers.part import COUNT, INTERVAL_S, LOG

ROLES: Final = {
    "holdfast": ("work", "work"),
    "celery": ("schedule", "work", "work"),
    "rq": ("schedule", "work", "work"),
    "saq": ("work", "work"),
    "taskiq": ("schedule", "work", "work"),
}

QUIET_S: Final = 40
TROUBLE_S: Final = 60
KILL_EVERY_S: Final = 4.0
AWAY_S: Final = 1.0
SETTLE_S: Final = 8.0

NS: Final = 1e9


class Deployment:
    """The processes of one library.

    Args:
        name: of its module in `schedulers`.
        folder: for its files.
        url: of the server.
    """

    def __init__(self, name: str, folder: Path, url: str) -> None:
        self._name, self._url = name, url
        self._log = folder / "runs"
        self._log.touch()
        self._launcher = ProcessLauncher(name, ROOT, {LOG: str(self._log)}, folder / "output")
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []
        for role in ROLES[name]:
            self._start(role)

    def kill_one(self, dice: random.Random) -> None:
        """Kill a process, and start another one after `AWAY_S`."""
        role, process = self._running.pop(dice.randrange(len(self._running)))
        kill(process)
        time.sleep(AWAY_S)
        self._start(role)

    def runs(self) -> dict[str, list[int]]:
        """Return schedule → when it ran, sorted."""
        found = defaultdict(list)
        for line in self._log.read_text().splitlines():
            name, at = line.split()
            found[name].append(int(at))
        return {name: sorted(times) for name, times in found.items()}

    def cpu_s(self) -> float:
        """Return the processor time of its processes so far."""
        return sum(cpu_s_of(process.pid) for _, process in self._running)

    def close(self) -> None:
        """End its processes."""
        while self._running:
            kill(self._running.pop()[1])

    def _start(self, role: str) -> None:
        module = f"benchmarks.queues.schedulers.{self._name}"
        python = interpreter(self._name, PACKAGES.get(self._name))
        process = self._launcher.start([python, "-m", module, role, self._url], orders=False)
        self._running.append((role, process))


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one library after the other."""
    rows = [_row(bench, name) for name in ROLES if name == "holdfast" or name in bench.rivals]
    columns = (
        *("case", "gap p50 s", "gap p99 s", "gap max s", "client CPU ms/s", "server CPU ms/s"),
        *("runs under kills", "of", "missed", "repeated"),
    )
    title = f"{COUNT} schedules, each every {INTERVAL_S} s, on two workers"
    notes = [f"under kills: kill -9 of one process every {KILL_EVERY_S:g} s, away for {AWAY_S:g} s"]
    yield Table(title, columns, rows, (), notes)


def _row(bench: BenchmarkRun, name: str) -> list[str | float]:
    bench.server.clear()
    with TemporaryDirectory(prefix="holdfast-bench-") as folder:
        deployment = Deployment(name, Path(folder), bench.server.url)
        try:
            time.sleep(SETTLE_S)
            quiet_s = bench.scaled(QUIET_S)
            usage, cpu_s, begin_ns = bench.server.usage(), deployment.cpu_s(), time.monotonic_ns()
            time.sleep(quiet_s)
            server_s = bench.server.usage().cpu_s - usage.cpu_s
            client_s = deployment.cpu_s() - cpu_s
            trouble_ns = time.monotonic_ns()
            _trouble(deployment, bench.scaled(TROUBLE_S))
            time.sleep(SETTLE_S)
            end_ns = time.monotonic_ns()
            runs = deployment.runs()
        finally:
            deployment.close()
    gaps = sorted(_gaps(runs, begin_ns, trouble_ns)) or [0.0, 0.0]
    marks = quantiles(gaps, n=100, method="inclusive")
    ran = sum(trouble_ns <= at < end_ns for times in runs.values() for at in times)
    missed, repeated = _faults(_gaps(runs, trouble_ns, end_ns))
    due = round((end_ns - trouble_ns) / NS / INTERVAL_S) * COUNT
    per_s = 1000 / quiet_s
    cost = (client_s * per_s, server_s * per_s)
    return [name, marks[49], marks[98], gaps[-1], *cost, ran, due, missed, repeated]


def _trouble(deployment: Deployment, seconds: float) -> None:
    dice, end_s = random.Random(1), time.monotonic() + seconds
    while time.monotonic() < end_s:
        deployment.kill_one(dice)
        time.sleep(KILL_EVERY_S - AWAY_S)


def _gaps(runs: dict[str, list[int]], begin_ns: int, end_ns: int) -> list[float]:
    """Return the seconds between runs of one schedule that are within a time."""
    found = []
    for times in runs.values():
        within = [at for at in times if begin_ns <= at < end_ns]
        found += [(later - at) / NS for at, later in itertools.pairwise(within)]
    return found


def _faults(gaps: Sequence[float]) -> tuple[int, int]:
    """Return how many intervals passed without a run, and how many runs came too soon."""
    missed = sum(max(0, round(gap / INTERVAL_S) - 1) for gap in gaps)
    return missed, sum(gap < INTERVAL_S / 2 for gap in gaps)
