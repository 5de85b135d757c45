"""Offers the slots of tasks that have ended to the queues of a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...core.concurrency._async.background_task import call_later, call_soon
from .fair_share import FairShare

_GATHER_S: Final = 0.002
"""Seconds that free slots wait for more of them, if they are fewer than a batch."""


class SlotOffers:
    """Offers free slots once for all tasks that end in the same turn of the loop.

    Args:
        slots: the slots of the worker.
        offer: wakes the queue that gets the next free slots.
    """

    def __init__(self, slots: FairShare, offer: Callable[[], None]) -> None:
        self._slots = slots
        self._offer = offer
        self._is_near = self._is_later = False

    def slot_freed(self) -> None:
        """Offer the free slots soon: right after this turn of the loop if they fill a batch."""
        if self._is_near:
            return
        if self._slots.fills_batch:
            self._is_near = True
            call_soon(self._offer_now)
        elif not self._is_later:
            self._is_later = True
            call_later(_GATHER_S, self._offer_later)

    def _offer_now(self) -> None:
        self._is_near = False
        self._offer()

    def _offer_later(self) -> None:
        self._is_later = False
        self._offer()
