"""Compute the health of a group of worker processes, for probes."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from .worker_process import WorkerProcess

SILENT_S: Final = 30.0
"""Seconds after the last report of a process from which it counts as blocked."""


@dataclass(frozen=True, slots=True)
class GroupHealth:
    """Holds the last reports of the processes of a supervisor.

    Attributes:
        processes: the processes that run, in any state.
        missing: how many slots of the group have no process that serves.
        stopping: whether the supervisor is stopping.
    """

    processes: tuple[WorkerProcess, ...]
    missing: int
    stopping: bool

    def not_alive(self, blocked_s: float) -> str:
        """Return why the group should be restarted; empty if it should not.

        A process that ended is no reason, because the supervisor starts it again.

        Args:
            blocked_s: seconds for which a task may block the event loop of a process.
        """
        return _joined(
            (process, _silence(process) or process.health.not_alive(blocked_s))
            for process in self.processes
            if process.health is not None
        )

    def not_ready(self) -> str:
        """Return why a process of the group claims no tasks; empty if all of them claim tasks."""
        if self.stopping:
            return "the supervisor is stopping"
        if self.missing:
            is_one = self.missing == 1
            return f"{self.missing} {'process does' if is_one else 'processes do'} not serve yet"
        return _joined(
            (process, _silence(process) or process.health.not_ready())
            for process in self.processes
            if process.health is not None and process.health.state == "serving"
        )


def _silence(process: WorkerProcess) -> str:
    """Return a problem if a process has not reported for too long; otherwise an empty text.

    A process reports from a thread. C code that keeps the interpreter lock stops this thread.
    """
    silent_s = time.monotonic() - process.heard_at
    return f"it has not reported for {silent_s:.0f} s" if silent_s >= SILENT_S else ""


def _joined(problems: Iterable[tuple[WorkerProcess, str]]) -> str:
    return "; ".join(f"{process}: {problem}" for process, problem in problems if problem)
