"""The processes of one contender: a producer that takes orders, workers, and their scoreboard."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NoReturn

from ..harness import BenchmarkRun
from ..orders import ContenderFailed, ControlledProcess, ProcessLauncher, kill
from ..venvs import ROOT, interpreter
from .contender import BOARD, HOLD_S, STEPS, Brief
from .lineup import PACKAGES, Entry
from .scoreboard import Scoreboard

LEASE_S: Final = 30
"""Until the tasks of a vanished worker run again, where a table does not ask for less."""

_REHEARSAL: Final = 100
_REHEARSAL_S: Final = 30.0
_POLL_S: Final = 0.005


class ContenderProcesses:
    """The processes of one contender.

    Args:
        entry: who it is.
        folder: of its own, for its files.
        url: of the server.
        tasks: that it is asked to do at most.
        lease_s: see `Brief`.
        hold_s: how long each task takes.
        padding: see `Brief`.
        steps: how much each task computes, in turns of a loop.
    """

    def __init__(
        self,
        entry: Entry,
        folder: Path,
        url: str,
        tasks: int,
        *,
        lease_s: int = LEASE_S,
        hold_s: float = 0.0,
        padding: int = 0,
        steps: int = 0,
    ) -> None:
        self.entry = entry
        self.board = Scoreboard.make(folder / "board", tasks + 1)
        brief = Brief(url, entry.places, lease_s, padding, dict(entry.options))
        self._brief = json.dumps(asdict(brief))
        environment = {BOARD: str(folder / "board"), HOLD_S: str(hold_s), STEPS: str(steps)}
        self._launcher = ProcessLauncher(entry.name, ROOT, environment, folder / "output")
        self._producer = ControlledProcess(self._launcher, self._command("produce"))
        self._workers: list[subprocess.Popen[bytes]] = []

    def order(self, verb: str, **order: Any) -> dict[str, Any]:
        """Have the producer do something, and wait for its answer.

        Raises:
            ContenderFailed: it gave none.
        """
        return self._producer.order(verb, **order)

    def start_worker(self) -> None:
        """Have one worker more."""
        self._workers.append(self._launcher.start(self._command("work"), orders=False))

    def kill_workers(self) -> None:
        """End all workers at once, as `kill -9` does, with whatever they have forked."""
        while self._workers:
            kill(self._workers.pop())

    def greet(self) -> None:
        """Have one task more done, and its result fetched: then a worker is ready.

        Raises:
            ContenderFailed: it was not done, or the result is wrong.
        """
        number = self.board.size - 1
        answer = self.order("ask", number=number)
        if answer["result"] != number:
            self.fail(f"the result of task {number} is {answer['result']!r}")

    def wait_done(self, count: int, limit_s: float) -> bool:
        """Wait until the first *count* tasks have ended; whether they did within *limit_s*."""
        deadline_s = time.monotonic() + limit_s
        while left := self.board.left(count):
            if time.monotonic() > deadline_s or all(
                one.poll() is not None for one in self._workers
            ):
                return False
            time.sleep(_POLL_S if left < count else _POLL_S / 2)
        return True

    def close(self) -> None:
        """End all its processes."""
        self.kill_workers()
        self._producer.kill()

    def fail(self, what: str) -> NoReturn:
        """Raise `ContenderFailed`, with what its processes printed."""
        self._launcher.fail(what)

    def _command(self, role: str) -> list[str | Path]:
        adapter = self.entry.adapter
        module = f"benchmarks.queues.contenders.{adapter}"
        return [interpreter(adapter, PACKAGES.get(adapter)), "-m", module, role, self._brief]


@contextmanager
def running_contenders(
    bench: BenchmarkRun, entries: Sequence[Entry], tasks: int, **settings: Any
) -> Iterator[list[ContenderProcesses]]:
    """Yield processes for each of *entries*, in this order.

    *settings* are those of `ContenderProcesses`.
    """
    with ExitStack() as opened:
        found = []
        for entry in entries:
            folder = opened.enter_context(TemporaryDirectory(prefix="holdfast-bench-"))
            contender = ContenderProcesses(entry, Path(folder), bench.server.url, tasks, **settings)
            opened.callback(contender.close)
            found.append(contender)
        yield found


def rehearsed(
    bench: BenchmarkRun, contenders: Sequence[ContenderProcesses], verb: str = "many"
) -> tuple[list[ContenderProcesses], list[str]]:
    """Return those of *contenders* that do what is measured, and what is wrong with the others.

    Tasks that are enqueued by *verb* have to run once each, and their results have to be kept.

    Raises:
        ContenderFailed: one that is no rival does not.
    """
    able, failures = [], []
    for contender in contenders:
        bench.server.clear()
        contender.board.clear()
        contender.start_worker()
        try:
            contender.greet()
            _check(contender, verb)
        except ContenderFailed as failure:
            if contender.entry.adapter not in PACKAGES:
                raise
            failures.append(f"left out: {failure}")
        else:
            able.append(contender)
        contender.kill_workers()
    return able, failures


def _check(contender: ContenderProcesses, verb: str) -> None:
    count = min(_REHEARSAL, contender.board.size - 1)
    contender.order(verb, count=count)
    done = contender.wait_done(count, _REHEARSAL_S)
    repeated = contender.board.runs(count).repeated
    if not done or repeated:
        left = contender.board.left(count)
        contender.fail(f"of {count} tasks {left} did not run, {repeated} ran more than once")
