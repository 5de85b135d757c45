"""How a worker ends: running tasks get a grace; those that still run after it are given back."""

from __future__ import annotations

import logging
from typing import Final

from ...core.clock import Deadline
from ...core.concurrency._async.primitives import Event
from ...core.error_text import log_safely
from ...errors import HoldfastError
from ...errors.one_line_logger import logger_of
from .claimer import Claimer
from .executions import Executions

logger: Final = logger_of("holdfast.worker")

END_S: Final = 5.0
"""Seconds that a worker has at its end to give its tasks back."""


class Grace:
    """The time that running tasks have to finish, once the worker is stopped."""

    def __init__(self) -> None:
        self._until = Deadline(None)
        self._stopped = Event()

    @property
    def left_s(self) -> float:
        """Return how many seconds are left."""
        return self._until.left_s()

    def shorten(self, seconds: float) -> bool:
        """Set the grace, unless it is shorter already. From any thread or signal handler."""
        grace = Deadline(seconds)
        if grace.at >= self._until.at:
            return False
        self._until = grace
        return True

    def begin(self) -> None:
        """Let the grace begin, or end earlier. From any thread or signal handler."""
        self._stopped.set_from_handler()

    async def wait_begun(self) -> None:
        """Wait until the worker is stopped."""
        await self._stopped.wait(None)

    async def wait_over(self) -> None:
        """Wait until no time is left."""
        while not self._until.passed:
            self._stopped.clear()
            await self._stopped.wait(self._until.left_s())


async def end_grace(grace: Grace, executions: Executions, worker: str) -> None:
    """Wait for the end of the grace of a stopped worker, and give back what still runs."""
    await grace.wait_begun()
    if executions:
        text = "worker %s stops: running tasks (%d) have %.3g s to finish"
        logger.info(text, worker, len(executions), grace.left_s)
    await grace.wait_over()
    executions.cancel_new()
    executions.log_late()
    await executions.stop_all(END_S)


async def leave(claimer: Claimer, worker: str) -> None:
    """Give back the tasks of one queue. A failure does not affect the other queues."""
    try:
        await claimer.leave()
    except HoldfastError:
        pass  # the leases of its claims end by themselves
    except Exception as error:  # noqa: BLE001 (the worker ends anyway)
        text = "worker %s could not give back all tasks of %s"
        log_safely(logger, logging.ERROR, text, worker, claimer.unit, error=error)
