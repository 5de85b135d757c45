"""Define the limits at which a supervisor replaces a worker process."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from ...inspect.formats import size
from .link import UNLIMITED_S, SupervisorLink

if TYPE_CHECKING:
    from ... import Worker

_TASKS_S: Final = 0.05
_MEMORY_S: Final = 1.0
"""Seconds between two checks of the limits."""

_BEYOND: Final = 1.25
"""Multiple of its limit at which a process stops claiming tasks even if no successor is ready."""


@dataclass(frozen=True, slots=True)
class ReplacementLimits:
    """Defines after how much work, or at which size, a process is replaced.

    Attributes:
        max_tasks: attempts that one process runs; None: no limit.
        max_memory: bytes of memory that one process may take; None: no limit.
    """

    max_tasks: int | None = None
    max_memory: int | None = None

    def __bool__(self) -> bool:
        return self.max_tasks is not None or self.max_memory is not None

    def watch(self, worker: Worker, link: SupervisorLink) -> None:
        """Report the first limit that *worker* reaches, in a thread.

        The worker continues until its successor is ready, or until 1.25 times the limit.
        """
        if self:
            work = partial(self._watch, worker, link)
            threading.Thread(target=work, name="holdfast limits", daemon=True).start()

    def _watch(self, worker: Worker, link: SupervisorLink) -> None:
        while not worker.serving:
            time.sleep(_TASKS_S)
        link.reached(self._wait(worker, 1.0))
        self._wait(worker, _BEYOND)
        worker.stop(grace=UNLIMITED_S)

    def _wait(self, worker: Worker, factor: float) -> str:
        """Wait until *worker* has reached *factor* times a limit. Return the name of the limit."""
        pause_s = _MEMORY_S if self.max_tasks is None else _TASKS_S
        looked_at = 0.0
        while True:
            tasks = worker.tasks_ended
            if self.max_tasks is not None and tasks >= factor * self.max_tasks:
                return f"{tasks:,} tasks"
            now = time.monotonic()
            if self.max_memory is not None and now - looked_at >= _MEMORY_S:
                looked_at, taken = now, worker.memory or 0
                if taken >= factor * self.max_memory:
                    return f"{size(taken)} of memory"
            time.sleep(pause_s)
