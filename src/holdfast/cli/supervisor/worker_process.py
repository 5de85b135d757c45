"""Start and control one worker process from its supervisor."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from socket import socket as Socket  # noqa: N812 (an attribute is called socket)
from socket import socketpair
from typing import TYPE_CHECKING, Final

from .role import HEALTH, LIMIT, READY, VARIABLE, ProcessRole, health_in

if TYPE_CHECKING:
    from ... import WorkerHealth

_REPORTS: Final = 4096


class WorkerProcess:
    """Starts a worker process, sends commands to it, and reads its reports.

    The process has its own process group, so that Ctrl-C on a terminal reaches only the supervisor,
    which decides what the process does.

    Args:
        argv: command line of the process.
        number: number of the slot in the group.
        group: name of the supervisor.

    Attributes:
        number: number of the slot in the group.
        socket: readable when a report is there; None once the process has closed the connection.
        is_ready: whether the process has ever served.
        limit: the limit that the process has reached; empty if it reached none.
        health: the latest report of its health; None before the first.
        heard_at: when it last reported its health, in seconds of the monotonic clock.
        started_at: when it was started, in seconds of the monotonic clock.

    Raises:
        OSError: the system refuses to start the process.
    """

    def __init__(self, argv: Sequence[str], number: int, group: str) -> None:
        self.number = number
        self.is_ready: bool = False
        self.limit: str = ""
        self.health: WorkerHealth | None = None
        self.heard_at: float = 0.0
        self.started_at: float = time.monotonic()
        self._socket, theirs = socketpair()
        self.socket: Socket | None = self._socket
        self._unparsed = b""
        try:
            with theirs:
                role = ProcessRole(theirs.fileno(), number, group)
                self._popen = subprocess.Popen(  # noqa: S603 (our own command line)
                    argv,
                    env={**os.environ, VARIABLE: str(role)},
                    stdin=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    process_group=0,
                )
        except OSError:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def __str__(self) -> str:
        return f"process {self.number} (pid {self.pid})"

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._popen.pid

    @property
    def code(self) -> int | None:
        """Return the exit code; None while the process runs; -N if signal N ended it."""
        return self._popen.poll()

    def send(self, command: bytes) -> None:
        """Send *command* to the process. Do nothing if the process has ended."""
        with contextlib.suppress(OSError):
            self._socket.send(command)

    def receive(self) -> None:
        """Read the reports that the process has sent since the last call."""
        with contextlib.suppress(BlockingIOError):
            while data := self._received():
                self._unparsed += data
            self.socket = None
        *lines, self._unparsed = self._unparsed.split(b"\n")
        for line in map(bytes.decode, lines):
            if line == READY:
                self.is_ready = True
            elif line.startswith(LIMIT):
                self.limit = line.removeprefix(LIMIT)
            elif line.startswith(HEALTH):
                self.heard_at = time.monotonic()
                self.health = health_in(line.removeprefix(HEALTH))

    def _received(self) -> bytes:
        try:
            return self._socket.recv(_REPORTS)
        except ConnectionResetError:
            return b""

    def kill(self) -> None:
        """Kill the process and all processes of its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the connection to the process, after it has ended."""
        self._socket.close()
