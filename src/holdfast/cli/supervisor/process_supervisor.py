"""Supervise the processes of `holdfast worker --processes`."""

from __future__ import annotations

import math
import os
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Final

from ...errors.one_line_logger import logger_of
from ...inspect.formats import counted
from ..exit_codes import FAILED
from .group_health import GroupHealth
from .process_slot import ProcessSlot
from .role import HURRY, LATE_S, STOP
from .signals import SignalInbox
from .worker_process import WorkerProcess

logger: Final = logger_of("holdfast.worker")

_LOOK_S: Final = 0.5
"""Seconds between two checks of the processes. Signals and reports cause a check at once."""


class ProcessSupervisor:
    """Runs a group of worker processes until a signal stops it.

    - If a process dies, the supervisor starts it again, after a wait that grows with each failure.
    - If a process reaches a limit, the supervisor starts a successor, which replaces the process.
    - At the first SIGTERM or SIGINT all processes drain. At the second, they give back their tasks.
    - If the supervisor is killed, the worker processes notice it, and drain.

    The supervisor starts the first process alone. If that one fails before it claims tasks, the
    others would fail too, so the supervisor ends with the same exit code.

    Args:
        argv: the command of a worker process.
        count: the number of processes.
        grace_s: seconds that running tasks get to finish when the supervisor stops.
        until_idle: whether the processes end by themselves when all tasks are done.
    """

    def __init__(
        self, argv: Sequence[str], count: int, *, grace_s: float, until_idle: bool = False
    ) -> None:
        self.group: str = f"{socket.gethostname()}:{os.getpid()}"
        self._argv = argv
        self._grace_s = grace_s
        self._inbox = SignalInbox()
        self._slots = [
            ProcessSlot(lambda number=number: self._start(number), number == 1, until_idle)  # type: ignore[misc]
            for number in range(1, count + 1)
        ]
        self._sent = b""  # the last command that stops the processes
        self._ends_at = 0.0
        self._code = 0

    @property
    def processes(self) -> list[WorkerProcess]:
        """Return the processes that have not ended, as far as the supervisor knows."""
        return [process for slot in self._slots for process in slot.processes]

    def health(self) -> GroupHealth:
        """Return the health of the processes, for probes. Call it from any thread."""
        served = [slot.serving is not None and slot.serving.is_ready for slot in self._slots]
        return GroupHealth(tuple(self.processes), served.count(False), bool(self._sent))

    def run(self) -> int:
        """Keep the processes running until they are stopped. Return the exit code.

        The code is 0 after an ordinary end, and 1 if a process had to be killed. If the first
        process never served, it is the code of that process. A second signal ends the supervisor.
        """
        with self._inbox:
            logger.info(
                "supervisor %s: %s", self.group, counted(len(self._slots), "process", "processes")
            )
            while not self._is_over():
                self._obey_signals()
                for slot in self._slots:
                    slot.look()
                self._end_late()
                if not self._sent:
                    self._advance()
                sockets = [each.socket for each in self.processes if each.socket is not None]
                self._inbox.wait(self._pause_s(), sockets)
            codes = [slot.exit_code for slot in self._slots if slot.exit_code]
            received = self._inbox.received
        logger.info("supervisor %s has ended", self.group)
        if len(received) > 1:
            signal.raise_signal(received[1])
        return self._code or max(codes, default=0)

    def _start(self, number: int) -> WorkerProcess:
        return WorkerProcess(self._argv, number, self.group)

    def _is_over(self) -> bool:
        if self.processes:
            return False
        return bool(self._sent) or all(slot.exit_code is not None for slot in self._slots)

    def _advance(self) -> None:
        first = self._slots[0]
        if not first.was_ready and first.failed_code:
            self._code = first.failed_code
            self._stop(STOP)
            return
        for slot in self._started_slots():
            slot.advance()

    def _started_slots(self) -> Iterator[ProcessSlot]:
        """Yield the slots that may have a process: the first one alone until it has served."""
        first, *others = self._slots
        yield first
        if first.was_ready:
            yield from others

    def _obey_signals(self) -> None:
        signals = len(self._inbox.received)
        if signals > 1 and self._sent != HURRY:
            self._stop(HURRY)
        elif signals == 1 and not self._sent:
            self._stop(STOP)

    def _stop(self, command: bytes) -> None:
        """Send *command* to all processes, and set the time by which they must have ended."""
        grace_s = self._grace_s if command == STOP else 0.0
        if self.processes:
            text = "supervisor %s stops: the tasks of %s have %.3g s to finish"
            logger.info(
                text, self.group, counted(len(self.processes), "process", "processes"), grace_s
            )
        self._sent, self._ends_at = command, time.monotonic() + grace_s + LATE_S
        for slot in self._slots:
            slot.stopping = True
        for process in self.processes:
            process.send(command)

    def _end_late(self) -> None:
        """Kill the processes that have not ended in time."""
        if self._sent and time.monotonic() > self._ends_at:
            for process in self.processes:
                logger.error("%s does not end: it is killed", process)
                process.kill()
                self._code = FAILED
            self._ends_at = math.inf

    def _pause_s(self) -> float:
        """Return how long to wait for a signal."""
        now = time.monotonic()
        waits = [slot.wakes_at - now for slot in self._started_slots() if slot.is_empty]
        return max(0.0, min([_LOOK_S, *waits]))
