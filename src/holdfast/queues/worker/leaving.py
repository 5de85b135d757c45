"""How a worker ends: the grace of what still runs, and giving back the rest."""

from __future__ import annotations

import logging
from typing import Final

from ...core.clock import Deadline
from ...core.concurrency._async.primitives import Event
from ...core.error_text import log_safely
from ...errors import HoldfastError
from ...errors.one_line_logger import logger_of
from .claimer import Claimer

logger: Final = logger_of("holdfast.worker")


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
        """Let it begin, or end earlier. From any thread or signal handler."""
        self._stopped.set_from_handler()

    async def wait_begun(self) -> None:
        """Wait until the worker is stopped."""
        await self._stopped.wait(None)

    async def wait_over(self) -> None:
        """Wait until no time is left."""
        while not self._until.passed:
            self._stopped.clear()
            await self._stopped.wait(self._until.left_s())


async def leave(claimer: Claimer, worker: str) -> None:
    """Give back the tasks of one queue. A failure does not affect the other queues."""
    try:
        await claimer.leave()
    except HoldfastError:
        pass  # its leases will end
    except Exception as error:  # noqa: BLE001 (the worker ends anyway)
        text = "worker %s could not give back all tasks of %s"
        log_safely(logger, logging.ERROR, text, worker, claimer.unit, error=error)
