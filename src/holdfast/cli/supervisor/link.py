"""Connect a worker process to its supervisor: receive commands, and send reports."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Final

from ...errors.one_line_logger import logger_of
from .role import HURRY, LATE_S, LIMIT, READY, RETIRE, STOP, ProcessRole, health_report

if TYPE_CHECKING:
    from ... import Worker

logger: Final = logger_of("holdfast.worker")

_COMMANDS: Final = 64
"""Bytes (one for each command) that one read returns at most. A supervisor sends up to three."""

_LOOK_S: Final = 0.02

_HEALTH_S: Final = 1.0
"""Seconds between two reports."""

UNLIMITED_S: Final = 864_000.0
"""The grace of a process that retires: ten days, so that all its tasks can finish."""


class SupervisorLink:
    """Executes the commands of the supervisor, and sends reports to it.

    If the supervisor is killed, the connection is closed. Then this process drains as on SIGTERM,
    so that no process survives its supervisor. If it does not end in time, it kills itself.

    Args:
        role: the role of this process.
        grace_s: seconds that running tasks get to finish.
    """

    def __init__(self, role: ProcessRole, grace_s: float) -> None:
        self._socket = socket.socket(fileno=role.descriptor)
        self._socket.set_inheritable(False)  # processes of tasks must not keep the connection open
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._reporting = threading.Lock()
        self._worker: Worker | None = None
        self._command = b""  # a command that arrived before the worker was made
        threading.Thread(target=self._obey_all, name="holdfast supervised", daemon=True).start()

    def serve(self, worker: Worker) -> None:
        """Pass commands on to *worker* from now on, and report when it serves."""
        with self._lock:
            self._worker = worker
            if self._command:
                self._pass_on(self._command)
        threading.Thread(target=self._report_all, name="holdfast reports", daemon=True).start()

    def reached(self, limit: str) -> None:
        """Report that this process has reached *limit*.

        The supervisor then starts a successor. When the successor claims tasks, the supervisor
        sends the command `RETIRE` to this process.
        """
        self._report(f"{LIMIT}{limit}")

    def _report(self, line: str) -> None:
        with self._reporting, contextlib.suppress(OSError):  # the supervisor may have ended
            self._socket.sendall(f"{line}\n".encode())

    def _report_all(self) -> None:
        """Report every second the health of the worker, and once that it claims tasks."""
        assert self._worker is not None
        is_ready, report_at = False, 0.0
        while True:
            if not is_ready and self._worker.serving:
                is_ready, report_at = True, 0.0
                self._report(READY)
            if time.monotonic() >= report_at:
                report_at = time.monotonic() + _HEALTH_S
                self._report(health_report(self._worker.health()))
            time.sleep(_HEALTH_S if is_ready else _LOOK_S)

    def _obey_all(self) -> None:
        with contextlib.suppress(OSError):
            while commands := self._socket.recv(_COMMANDS):
                for command in commands:
                    self._obey(bytes([command]))
        logger.warning("the supervisor of this process has vanished: the process stops")
        self._obey(STOP)
        time.sleep(self._grace_s + LATE_S)
        os.kill(os.getpid(), signal.SIGKILL)

    def _obey(self, command: bytes) -> None:
        with self._lock:
            self._command = command
            if self._worker is not None:
                self._pass_on(command)

    def _pass_on(self, command: bytes) -> None:
        assert self._worker is not None
        if command == STOP:
            self._worker.stop()
        elif command == RETIRE:
            self._worker.stop(grace=UNLIMITED_S)
        elif command == HURRY:
            self._worker.stop(grace=0)
