"""What another program changed in the keys of a queue, as far as a worker notices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...core.names import Unit
from ...errors import DecodeError
from ...errors.records import logger_of

logger = logger_of("holdfast.worker")

_FIRST_TRIES: Final = 1
"""The first failure may be of the ledger entry of the writer, and the next try has a new writer."""


class QueueDamage:
    """Remember how a queue is damaged, and report it once.

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
        self._astray = 0

    def step_failed(self, error: Exception, failures: int) -> None:
        """Note the *error* of a step, which failed so often in a row."""
        self.error = None
        if failures > _FIRST_TRIES and isinstance(error, DecodeError):
            self.error = error
            self._on_error()

    def step_succeeded(self, astray: int) -> None:
        """Log tasks that are *astray*, as `step.lua` counts them, once as long as that lasts."""
        self.error = None
        if astray and not self._astray:
            logger.error(
                "%s is damaged: %s; another program changed its keys: run `holdfast fsck`",
                self._unit,
                _described(astray),
            )
        self._astray = astray


def _described(astray: int) -> str:
    match astray:
        case 1:
            return "1 task is in no line and will not run"
        case -1:
            return "1 id in its lines has no task"
        case _ if astray > 0:
            return f"{astray:,} tasks are in no line and will not run"
    return f"{-astray:,} ids in its lines have no task"
