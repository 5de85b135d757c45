"""The processes of one contender: a producer that takes orders, workers, and their scoreboard."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NoReturn

from ..harness import Bench
from .contender import BOARD, HOLD_S, Brief
from .lineup import PACKAGES, Entry
from .scoreboard import Scoreboard
from .venvs import ROOT, interpreter

LEASE_S: Final = 30
"""Until the tasks of a vanished worker run again, where a table does not ask for less."""

ORDER_S: Final = 300.0
"""No order takes longer."""

_REHEARSAL: Final = 100
_REHEARSAL_S: Final = 30.0
_POLL_S: Final = 0.005


class ContenderFailed(Exception):
    """A contender did not do what it was told to; with the last that its processes printed."""


class Crew:
    """The processes of one contender.

    Args:
        entry: who it is.
        folder: of its own, for its files.
        url: of the server.
        tasks: that it is asked to do at most.
        lease_s: see `Brief`.
        hold_s: how long each task takes.
        padding: see `Brief`.
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
    ) -> None:
        self.entry = entry
        self.board = Scoreboard.make(folder / "board", tasks + 1)
        self._output = folder / "output"
        brief = Brief(url, entry.places, lease_s, padding, dict(entry.options))
        self._brief = json.dumps(asdict(brief))
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self._environment = {
            **os.environ,
            "PYTHONPATH": path,
            BOARD: str(folder / "board"),
            HOLD_S: str(hold_s),
        }
        self._producer = self._started("produce")
        self._workers: list[subprocess.Popen[bytes]] = []

    def order(self, verb: str, **order: Any) -> dict[str, Any]:
        """Have the producer do something, and wait for its answer.

        Raises:
            ContenderFailed: it gave none.
        """
        stdin, stdout = self._producer.stdin, self._producer.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps({"verb": verb, **order}).encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            self.fail("its producer has ended")
        if not select.select([stdout], [], [], ORDER_S)[0]:
            self.fail(f"its producer did not answer {verb!r} within {ORDER_S:g} s")
        line = stdout.readline()
        if not line:
            self.fail(f"its producer ended while it was to {verb!r}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def start_worker(self) -> None:
        """Have one worker more."""
        self._workers.append(self._started("work"))

    def kill_workers(self) -> None:
        """End all workers at once, as `kill -9` does, with whatever they have forked."""
        while self._workers:
            _kill(self._workers.pop())

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
        _kill(self._producer)

    def _started(self, role: str) -> subprocess.Popen[bytes]:
        adapter = self.entry.adapter
        with self._output.open("ab") as output:
            return subprocess.Popen(
                [
                    interpreter(adapter),
                    "-m",
                    f"benchmarks.queues.contenders.{adapter}",
                    role,
                    self._brief,
                ],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.PIPE if role == "produce" else subprocess.DEVNULL,
                stdout=subprocess.PIPE if role == "produce" else output,
                stderr=output,
                start_new_session=True,
            )

    def fail(self, what: str) -> NoReturn:
        """Raise `ContenderFailed`, with what its processes printed."""
        printed = self._output.read_text(errors="replace").strip().splitlines()[-15:]
        raise ContenderFailed("\n".join([f"{self.entry.name}: {what}", *printed]))


@contextmanager
def crews(
    bench: Bench, entries: Sequence[Entry], tasks: int, **settings: Any
) -> Iterator[list[Crew]]:
    """A crew for each of *entries*, in this order, while the context lasts.

    *settings* are those of `Crew`.
    """
    with ExitStack() as opened:
        found = []
        for entry in entries:
            folder = opened.enter_context(TemporaryDirectory(prefix="holdfast-bench-"))
            crew = Crew(entry, Path(folder), bench.server.url, tasks, **settings)
            opened.callback(crew.close)
            found.append(crew)
        yield found


def rehearsed(
    bench: Bench, crews: Sequence[Crew], verb: str = "many"
) -> tuple[list[Crew], list[str]]:
    """Those of *crews* that do what is measured, and what is wrong with the others.

    Tasks that are enqueued by *verb* have to run once each, and their results have to be kept.

    Raises:
        ContenderFailed: one that is no rival does not.
    """
    able, failures = [], []
    for crew in crews:
        bench.server.clear()
        crew.board.clear()
        crew.start_worker()
        try:
            crew.greet()
            _check(crew, verb)
        except ContenderFailed as failure:
            if crew.entry.adapter not in PACKAGES:
                raise
            failures.append(f"left out: {failure}")
        else:
            able.append(crew)
        crew.kill_workers()
    return able, failures


def _check(crew: Crew, verb: str) -> None:
    count = min(_REHEARSAL, crew.board.size - 1)
    crew.order(verb, count=count)
    done = crew.wait_done(count, _REHEARSAL_S)
    repeated = crew.board.runs(count).repeated
    if not done or repeated:
        left = crew.board.left(count)
        crew.fail(f"of {count} tasks {left} did not run, {repeated} ran more than once")


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
