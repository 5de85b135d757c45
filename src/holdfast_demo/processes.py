"""Start the processes of a demo, replace those that die, and end them."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

GRACE_S: Final = 15.0
"""Seconds from SIGTERM to SIGKILL; sending a mail times out after 10 s."""

MAX_REPLACED: Final = 10
LOG_LINES: Final = 8


class ProcessFailed(RuntimeError):
    """Raised when a process has ended too often to be replaced. The text has the end of its log."""

    def __init__(self, name: str, status: int | None, log: str) -> None:
        tail = "\n".join(log.splitlines()[-LOG_LINES:])
        super().__init__(f"{name} ended with status {status}\n{tail}")


@dataclass
class ProcessGroup:
    """Run a process for each of *commands* in a block: `with group:`.

    Args:
        commands: name of a process → its arguments after `python -m`.
        environment: all environment variables of the processes.
        logs: folder for the output: `NAME.log`, and `NAME.out` if *apart* is set.
        folder: working directory, from which the processes import modules; None: the current one.
        once: whether a process that ends with status 0 is done, so that it is not replaced.
        replaced_at_most: maximum number of replaced processes; those that `kill` ended do not
            count.
        apart: whether standard output is written to `NAME.out` instead of the log.

    Attributes:
        replaced: number of processes that died and were replaced.
        gone: names of processes that were killed and not replaced.
    """

    commands: Mapping[str, Sequence[str]]
    environment: Mapping[str, str]
    logs: Path
    folder: Path | None = None
    once: bool = False
    replaced_at_most: int = MAX_REPLACED
    apart: bool = False
    replaced: int = 0
    gone: set[str] = field(default_factory=set)
    _killed: int = 0
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._processes = {name: self._started(name) for name in self.commands}
        return self

    def __exit__(self, *ended: object) -> None:
        """Send SIGTERM to all processes. Kill those that have not ended after `GRACE_S`."""
        for process in self._processes.values():
            process.terminate()
        deadline_s = time.monotonic() + GRACE_S
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline_s - time.monotonic()))
            process.kill()
            process.communicate()

    @property
    def pids(self) -> dict[str, int]:
        """Return name → process id."""
        return {name: process.pid for name, process in self._processes.items()}

    @property
    def done(self) -> bool:
        """Return whether all processes, except those in `gone`, have ended with status 0."""
        left = self._processes.keys() - self.gone
        return all(self._processes[name].poll() == 0 for name in left)

    def kill(self, name: str, *, replace: bool = True) -> None:
        """End the process *name* with SIGKILL, like a crash. If *replace*, start a new one."""
        if not replace:
            self.gone.add(name)
        process = self._processes[name]
        process.kill()
        process.wait()
        if replace:
            self._killed += 1
            self.replace_dead()

    def replace_dead(self) -> None:
        """Start a new process for each process that died.

        Raises:
            ProcessFailed: too many processes died.
        """
        for name, process in self._processes.items():
            status = process.poll()
            if status is None or name in self.gone or (self.once and status == 0):
                continue
            if self.replaced - self._killed >= self.replaced_at_most:
                raise ProcessFailed(name, status, self.log(name))
            process.communicate()
            self.replaced += 1
            self._processes[name] = self._started(name)

    def log(self, name: str) -> str:
        """Return the log of a process."""
        return (self.logs / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def output(self, name: str) -> str:
        """Return the standard output of a process, if *apart* is set."""
        return (self.logs / f"{name}.out").read_text(encoding="utf-8")

    def _started(self, name: str) -> subprocess.Popen[bytes]:
        with contextlib.ExitStack() as files:
            log = files.enter_context((self.logs / f"{name}.log").open("ab"))
            out = log
            if self.apart:
                out = files.enter_context((self.logs / f"{name}.out").open("wb"))
            return subprocess.Popen(  # noqa: S603  (our own program and arguments)
                [sys.executable, "-m", "holdfast_demo.child", *self.commands[name]],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.PIPE,  # closed when the demo ends; nothing is written
                stdout=out,
                stderr=log,
                start_new_session=True,  # so that Ctrl-C reaches only the demo, which ends them
            )
