"""Reports what other programs have damaged in the keys of a queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...core.names import Unit
from ...errors import DecodeError
from ...errors.one_line_logger import logger_of

logger: Final = logger_of("holdfast.worker")

_FIRST_TRIES: Final = 1
"""Failures in a row that do not count as damage of the queue. The first may come from a damaged
ledger entry of the worker, which then continues under a new name in the ledger (its *writer*).
"""


class QueueDamage:
    """Remembers how a queue is damaged, and reports it once.

    Args:
        unit: the queue.
        on_error: called after each step that fails because of `error`.

    Attributes:
        error: why no step succeeds; None if steps succeed.
    """

    def __init__(self, unit: Unit, on_error: Callable[[], None]) -> None:
        self.error: DecodeError | None = None
        self._unit = unit
        self._on_error = on_error
        self._missing = 0

    def step_failed(self, error: Exception, failures: int) -> None:
        """Record the *error* of a step that failed *failures* times in a row."""
        self.error = None
        if failures > _FIRST_TRIES and isinstance(error, DecodeError):
            self.error = error
            self._on_error()

    def step_succeeded(self, missing: int) -> None:
        """Log how many tasks are *missing*, as `step.lua` counts them.

        Log this once, and again only after a step without missing tasks.
        """
        self.error = None
        if missing and not self._missing:
            logger.error(
                "%s is damaged: %s; another program changed its keys: run `holdfast fsck`",
                self._unit,
                _described(missing),
            )
        self._missing = missing


def _described(missing: int) -> str:
    match missing:
        case 1:
            return "1 task is not queued and will not run"
        case -1:
            return "1 queued id has no task"
        case _ if missing > 0:
            return f"{missing:,} tasks are not queued and will not run"
    return f"{-missing:,} queued ids have no task"
