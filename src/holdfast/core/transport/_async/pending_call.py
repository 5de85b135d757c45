"""Hold one request of an asyncio connection, with the future of its outcome."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

import msgspec

from ..outcome import Outcome
from ..request import Request

EARLY_BATCH: Final = 16
"""Number of queued calls that are sent before the turn of the loop ends, so that the server can
already execute them."""

SMALL_BATCH: Final = 6
"""Used in place of `EARLY_BATCH` while at most twice as many calls are in flight: then the server
would soon have nothing to do."""


class PendingCall(msgspec.Struct, eq=False):
    """A request that is queued or sent, but not answered yet.

    Attributes:
        request: the request.
        future: the future of its outcome.
        since: time of the loop when the request was submitted; after sending, when it was sent.
    """

    request: Request
    future: asyncio.Future[Outcome]
    since: float

    def answer(self, outcome: Outcome) -> None:
        """Set the outcome, unless the call has one or its caller was cancelled."""
        if not self.future.done():
            self.future.set_result(outcome)

    def fail(self, error: BaseException) -> None:
        """Raise *error* in the caller, unless the call has an outcome or was cancelled."""
        if not self.future.done():
            self.future.set_exception(error)
            # Mark the error as retrieved. Otherwise asyncio would log it if no caller awaits it.
            self.future.exception()


def answer_late(
    queued: deque[PendingCall], sent_before: float, outcome: Outcome
) -> deque[PendingCall]:
    """Answer the *queued* calls that were submitted by *sent_before* with *outcome*.

    Return the other calls.
    """
    left = deque[PendingCall]()
    for call in queued:
        if call.future.done() or call.since <= sent_before:
            call.answer(outcome)
        else:
            left.append(call)
    return left


def is_early_batch(queued: int, in_flight: int) -> bool:
    """Return whether to send the *queued* calls before the turn of the loop ends."""
    return queued >= (EARLY_BATCH if in_flight > 2 * SMALL_BATCH else SMALL_BATCH) and in_flight > 0
