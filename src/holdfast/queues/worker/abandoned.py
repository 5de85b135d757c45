"""Counts the plain functions that run on after their timeout or cancellation."""

from __future__ import annotations

from typing import Final

from ...core.concurrency.thread_pool import Threads
from ...errors.one_line_logger import logger_of
from .fair_share import FairShare

logger: Final = logger_of("holdfast.worker")


class AbandonedFunctions:
    """Keeps a slot occupied for each abandoned function, and logs when no slot is left.

    Args:
        threads: run the functions.
        slots: the slots of the worker.
        concurrency: number of slots.
        worker: name of the worker.
    """

    def __init__(self, threads: Threads, slots: FairShare, concurrency: int, worker: str) -> None:
        self._threads = threads
        self._slots = slots
        self._concurrency = concurrency
        self._worker = worker
        self._has_no_slot = False

    def update(self) -> None:
        """Occupy one slot for each abandoned function that still runs."""
        abandoned = self._threads.abandoned
        self._slots.hold_back(abandoned)
        has_no_slot = abandoned >= self._concurrency
        if has_no_slot and not self._has_no_slot:
            logger.warning(
                "worker %s has no slot left: %d plain functions run on after their timeout or "
                "cancellation, each in its thread; give what they wait for a timeout of its own",
                self._worker,
                abandoned,
            )
        elif self._has_no_slot and not has_no_slot:
            logger.info("worker %s has a slot again", self._worker)
        self._has_no_slot = has_no_slot
