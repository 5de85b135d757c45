"""Fan-outs with a callback: how long, at what cost, and what kills do to the callbacks.

Each library runs two workers. First one large group runs undisturbed. Then one worker after the
other is killed and started again, while smaller groups run. At the end the workers have time to
finish. A callback is lost if it has not run by then, and repeated if it ran more than once.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from ..harness import BenchmarkRun
from ..orders import ProcessLauncher, kill
from ..report import Table
from ..venvs import ROOT, interpreter
from .fanouts.part import LOG
from .lineup import PACKAGES

NAMES: Final = ("holdfast", "celery", "dramatiq")
WORKERS: Final = 2
MEMBERS: Final = 10_000
GROUPS: Final = 40
GROUP_MEMBERS: Final = 200

KILL_EVERY_S: Final = 1.5
PATIENCE_S: Final = 60.0
SETTLE_S: Final = 5.0
"""Seconds for workers to start, and for the last repetitions of callbacks."""

NS: Final = 1e9


class Deployment:
    """The processes of one library.

    Args:
        name: of its module in `fanouts`.
        folder: for its files.
        url: of the server.
    """

    def __init__(self, name: str, folder: Path, url: str) -> None:
        self._name, self._url = name, url
        self._log = folder / "runs"
        self._log.touch()
        self._launcher = ProcessLauncher(name, ROOT, {LOG: str(self._log)}, folder / "output")
        self._workers = [self._started("work") for _ in range(WORKERS)]

    def produce(self, first: int, groups: int, members: int) -> subprocess.Popen[bytes]:
        """Start a process that enqueues groups."""
        return self._started("produce", str(first), str(groups), str(members))

    def kill_one(self, dice: random.Random) -> None:
        """Kill a worker, and start another one."""
        kill(self._workers.pop(dice.randrange(len(self._workers))))
        self._workers.append(self._started("work"))

    def times(self, what: str) -> dict[str, list[int]]:
        """Return group → when *what* happened to it."""
        found: dict[str, list[int]] = {}
        for line in self._log.read_text().splitlines():
            event, group, at = line.split()
            if event == what:
                found.setdefault(group, []).append(int(at))
        return found

    def close(self) -> None:
        """End its processes."""
        while self._workers:
            kill(self._workers.pop())

    def _started(self, *role: str) -> subprocess.Popen[bytes]:
        module = f"benchmarks.queues.fanouts.{self._name}"
        python = interpreter(self._name, PACKAGES.get(self._name))
        words = [python, "-m", module, role[0], self._url, *role[1:]]
        return self._launcher.start(words, orders=False)


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one library after the other."""
    rows = [_row(bench, name) for name in NAMES if name == "holdfast" or name in bench.rivals]
    columns = (
        *("case", "enqueued after s", "callback after s", "commands per member"),
        *("callbacks under kills", "of", "lost", "repeated"),
    )
    title = f"a group of {MEMBERS:,} with a callback, on {WORKERS} workers"
    trouble = f"{GROUPS} groups of {GROUP_MEMBERS}, kill -9 of a worker every {KILL_EVERY_S:g} s"
    notes = [f"under kills: {trouble}", "commands of the server, those within scripts included"]
    yield Table(title, columns, rows, (), notes)


def _row(bench: BenchmarkRun, name: str) -> list[str | float]:
    bench.server.clear()
    with TemporaryDirectory(prefix="holdfast-bench-") as folder:
        deployment = Deployment(name, Path(folder), bench.server.url)
        try:
            time.sleep(SETTLE_S)
            before = bench.server.usage()
            deployment.produce(0, 1, MEMBERS).wait()
            _wait(deployment, 1)
            commands = bench.server.usage().commands - before.commands
            _trouble(deployment)
            _wait(deployment, 1 + GROUPS)
            time.sleep(SETTLE_S)
            begin = deployment.times("begin")["0"][0]
            enqueued = (deployment.times("enqueued")["0"][0] - begin) / NS
            ran = deployment.times("then")
        finally:
            deployment.close()
    after = (ran["0"][0] - begin) / NS if "0" in ran else float("nan")
    counts = Counter({group: len(times) for group, times in ran.items() if group != "0"})
    repeated = sum(count > 1 for count in counts.values())
    cost = (enqueued, after, commands / MEMBERS)
    return [name, *cost, len(counts), GROUPS, GROUPS - len(counts), repeated]


def _trouble(deployment: Deployment) -> None:
    dice, producer = random.Random(1), deployment.produce(1, GROUPS, GROUP_MEMBERS)
    end_s = time.monotonic() + 20
    while producer.poll() is None or time.monotonic() < end_s:
        time.sleep(KILL_EVERY_S)
        deployment.kill_one(dice)


def _wait(deployment: Deployment, groups: int) -> None:
    """Wait until the callbacks of *groups* have run, but not forever."""
    end_s = time.monotonic() + PATIENCE_S
    while len(deployment.times("then")) < groups and time.monotonic() < end_s:
        time.sleep(0.01)
