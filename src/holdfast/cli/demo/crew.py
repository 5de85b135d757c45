"""The worker processes of a demo: started together, replaced when one dies, never left behind."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

GRACE_S = 15.0  # from SIGTERM to SIGKILL; a mail that hangs gives up after 10 s
MAX_REPLACED = 10  # a user may kill some to see what happens; a broken worker ends the demo
LOG_LINES = 8


class WorkersFailed(RuntimeError):
    """Workers kept dying; carries the end of the last one's log."""

    def __init__(self, status: int | None, log: Path) -> None:
        self.status = status
        self.log = log
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        self.tail = "\n".join(lines[-LOG_LINES:])
        super().__init__(f"workers keep ending, the last with status {status}\n{self.tail}")


@dataclass
class Crew:
    """`with Crew(…) as crew:` keeps *size* processes of `holdfast <arguments>` alive.

    Args:
        folder: where the processes run and so find the module of the tasks.
        environment: the whole environment that they get.
        logs: folder of their output, `worker-1.log` and so on.
    """

    size: int
    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    logs: Path
    replaced: int = 0
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __enter__(self) -> Self:
        self._processes = [self._start(number) for number in range(self.size)]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        end_all(self._processes)

    @property
    def pids(self) -> list[int]:
        """The process ids, for whoever wants to kill one."""
        return [process.pid for process in self._processes]

    def mend(self) -> None:
        """Start a new worker for each that died.

        Raises:
            WorkersFailed: so many died that something is wrong with them.
        """
        for number, process in enumerate(self._processes):
            status = process.poll()
            if status is None:
                continue
            if self.replaced == MAX_REPLACED:
                raise WorkersFailed(status, self._log(number))
            process.communicate()
            self.replaced += 1
            self._processes[number] = self._start(number)

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        with self._log(number).open("ab") as log:
            return on_the_leash(self.arguments, self.environment, log, folder=self.folder)

    def _log(self, number: int) -> Path:
        return self.logs / f"worker-{number + 1}.log"


def on_the_leash(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    log: BinaryIO,
    *,
    folder: Path | None = None,
    out: BinaryIO | None = None,
) -> subprocess.Popen[bytes]:
    """Start `holdfast <arguments>` as a process that does not outlive this one.

    Args:
        arguments: of the command line.
        environment: the whole environment that it gets.
        log: takes its standard error; its standard output as well, unless *out* is given.
        folder: where it runs; else here.
        out: takes its standard output.
    """
    return subprocess.Popen(  # noqa: S603  (our own program and arguments)
        [sys.executable, "-m", "holdfast.cli.demo.leash", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,  # the leash: nothing is ever written
        stdout=out or log,
        stderr=log,
    )


def end_all(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """End them in good order; those that do not hear are killed after a while."""
    for process in processes:
        process.terminate()
    deadline_s = time.monotonic() + GRACE_S
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline_s - time.monotonic()))
        process.kill()
        process.communicate()
