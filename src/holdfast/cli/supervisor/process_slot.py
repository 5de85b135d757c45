"""Keep one process of a group of worker processes running, and replace it at its limits."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from ...errors.one_line_logger import logger_of
from ...errors.process_exit import how_ended
from .role import RETIRE
from .worker_process import WorkerProcess

logger: Final = logger_of("holdfast.worker")

_FIRST_S: Final = 0.1
_LONGEST_S: Final = 30.0
"""Seconds to wait at most before starting a process again. The wait doubles with each failure."""

_STEADY_S: Final = 60.0
"""Seconds that a process must live to end a series of failures."""


@dataclass
class ProcessSlot:
    """Starts a process, starts it again when it dies, and replaces it when it reaches a limit.

    A replaced process claims tasks until its successor claims tasks. Then it retires: it claims no
    more tasks, and ends when its tasks have finished. At most one process of a slot retires at a
    time.

    Attributes:
        start: starts a process for this slot.
        is_first: whether the supervisor ends if the first process here ends before it claims tasks.
        until_idle: whether processes end by themselves when all tasks are done.
        serving: the process that claims tasks.
        successor: the process that will replace *serving*; it is starting.
        retiring: a replaced process that finishes its tasks.
        exit_code: the exit code of a process that has done all tasks; None: there is none yet.
        was_ready: whether any process of this slot has claimed tasks.
        stopping: whether to start no more processes.
        failed_code: exit code of the last process that ended before it claimed tasks; 0: none.
    """

    start: Callable[[], WorkerProcess]
    is_first: bool = False
    until_idle: bool = False
    serving: WorkerProcess | None = None
    successor: WorkerProcess | None = None
    retiring: WorkerProcess | None = None
    exit_code: int | None = None
    was_ready: bool = False
    failed_code: int = 0
    stopping: bool = False
    _failures: int = 0
    _not_before: float = 0.0
    _replace: str = field(default="", repr=False)

    @property
    def processes(self) -> list[WorkerProcess]:
        """Return the processes that have not ended, as far as this slot knows."""
        return [each for each in (self.serving, self.successor, self.retiring) if each is not None]

    @property
    def is_empty(self) -> bool:
        """Return whether a process must be started: none claims tasks, and tasks remain."""
        return self.serving is None and self.exit_code is None

    @property
    def wakes_at(self) -> float:
        """Return the monotonic time at which this slot must start a process."""
        return self._not_before

    def replace(self, why: str) -> None:
        """Request that a new process replaces the serving one as soon as possible; log *why*."""
        self._replace = self._replace or why

    def look(self) -> None:
        """Read the reports of the processes, and find out which of them have ended."""
        for process in self.processes:
            code = process.code
            process.receive()  # also the last reports of a process that has ended
            self.was_ready = self.was_ready or process.is_ready
            if code is not None:
                process.close()
                self._ended(process, code)

    def advance(self) -> None:
        """Start a serving process or a successor if needed. Let a ready successor take over."""
        if self.exit_code is not None:
            return
        if self.serving is not None and self.serving.limit:
            self.replace(f"it has reached {self.serving.limit}")
        if self.serving is None:
            self.serving = self._start()
        elif self._replace and self.successor is None and self.retiring is None:
            logger.info("%s is replaced: %s", self.serving, self._replace)
            self.successor = self._start()
        if self.successor is not None and self.successor.is_ready:
            self._hand_over(self.successor)

    def _start(self) -> WorkerProcess | None:
        if time.monotonic() < self._not_before:
            return None
        try:
            return self.start()
        except OSError as error:
            wait_s = self._failed(0.0)
            text = "no process can be started: %s; next try in %.1f s"
            logger.log(logging.ERROR, text, error, wait_s)
            return None

    def _hand_over(self, successor: WorkerProcess) -> None:
        self._replace = ""
        self.serving, self.successor, self.retiring = successor, None, self.serving
        if self.retiring is not None:
            self.retiring.send(RETIRE)

    def _ended(self, process: WorkerProcess, code: int) -> None:
        if process is self.serving:
            self.serving, self.successor, self._replace = self.successor, None, ""
        elif process is self.successor:
            self.successor = None
        else:
            self.retiring = None
        if not process.is_ready:
            self.failed_code = max(0, code)
        if self.until_idle and code >= 0:
            self.exit_code = max(self.exit_code or 0, code)
        what = f"{process} {how_ended(code)}"
        if self.stopping or self.exit_code is not None or (process.limit and not code):
            logger.log(logging.WARNING if code else logging.INFO, "%s", what)
            return
        wait_s = self._failed(time.monotonic() - process.started_at)
        if code > 0 and self.is_first and not self.was_ready:  # the supervisor will end too
            logger.error("%s before it served", what)
        else:
            logger.warning("%s; the next one starts in %.1f s", what, wait_s)

    def _failed(self, lived_s: float) -> float:
        """Count a failure of a process after *lived_s*. Return the seconds until the next start."""
        self._failures = 1 if lived_s > _STEADY_S else self._failures + 1
        full_s = min(_LONGEST_S, _FIRST_S * 2.0 ** min(self._failures - 1, 16))
        wait_s = full_s / 2 + random.uniform(0, full_s / 2)
        self._not_before = time.monotonic() + wait_s
        return wait_s
