"""The processes of a demo: started together, replaced when one dies, never left behind."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Self

GRACE_S = 15.0  # from SIGTERM to SIGKILL; a mail that hangs gives up after 10 s
MAX_REPLACED = 10
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
    """`with Crew(…) as crew:` keeps processes alive, one for each of *commands*.

    Args:
        commands: by the name of a process, what follows `python -m`.
        environment: the whole environment that they get.
        logs: folder of their output, `NAME.log` each.
        folder: where they run, and so find their modules; else here.
        once: who ends with status 0 is done, and not replaced.
        replaced_at_most: a user may kill some to see what happens; a broken one ends the demo.

    Attributes:
        replaced: how many died.
        killed: how many of these died by `kill`.
    """

    commands: Mapping[str, Sequence[str]]
    environment: Mapping[str, str]
    logs: Path
    folder: Path | None = None
    once: bool = False
    replaced_at_most: int = MAX_REPLACED
    replaced: int = 0
    killed: int = 0
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._processes = {name: self._start(name) for name in self.commands}
        return self

    def __exit__(self, *ended: object) -> None:
        end_all(list(self._processes.values()))

    @property
    def pids(self) -> dict[str, int]:
        """The process ids by name, for whoever wants to kill one, or to look at it."""
        return {name: process.pid for name, process in self._processes.items()}

    @property
    def done(self) -> bool:
        """Whether all have ended well."""
        return all(process.poll() == 0 for process in self._processes.values())

    def kill(self, name: str) -> None:
        """End one with SIGKILL, as a crash would, and replace it."""
        self._processes[name].kill()
        self._processes[name].wait()
        self.killed += 1
        self.mend()

    def mend(self) -> None:
        """Start a new process for each that died.

        Raises:
            WorkersFailed: so many died that something is wrong with them.
        """
        for name, process in self._processes.items():
            status = process.poll()
            if status is None or (self.once and status == 0):
                continue
            if self.replaced - self.killed >= self.replaced_at_most:
                raise WorkersFailed(status, self.log(name))
            process.communicate()
            self.replaced += 1
            self._processes[name] = self._start(name)

    def log(self, name: str) -> Path:
        """Where the output of a process goes."""
        return self.logs / f"{name}.log"

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        with self.log(name).open("ab") as log:
            return on_the_leash(self.commands[name], self.environment, log, folder=self.folder)


def on_the_leash(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: BinaryIO,
    *,
    folder: Path | None = None,
    out: BinaryIO | None = None,
) -> subprocess.Popen[bytes]:
    """Start `python -m <command>` as a process that does not outlive this one.

    Args:
        command: a module, and what it is told.
        environment: the whole environment that it gets.
        log: takes its standard error; its standard output as well, unless *out* is given.
        folder: where it runs; else here.
        out: takes its standard output.
    """
    return subprocess.Popen(  # noqa: S603  (our own program and arguments)
        [sys.executable, "-m", "holdfast.cli.demo.leash", *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,  # the leash: nothing is ever written
        stdout=out or log,
        stderr=log,
        start_new_session=True,  # Ctrl-C is for the demo, which ends them
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
