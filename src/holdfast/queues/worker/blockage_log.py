"""Names in the log the task that blocks the event loop of a worker."""

from __future__ import annotations

from typing import Final

from ...core.concurrency.watchdog import Blockage
from ...errors.one_line_logger import logger_of

logger: Final = logger_of("holdfast.worker")


def log_blockage(blockage: Blockage) -> None:
    """Log which task blocks the event loop, and where. Called from the watchdog's thread."""
    logger.warning(
        "%s has blocked the event loop for %.1f s, at %s: leases are kept, but no other task runs; "
        "await what it waits for, or make it a plain function",
        blockage.task.removeprefix("holdfast ") or "something",
        blockage.seconds,
        blockage.where,
    )
