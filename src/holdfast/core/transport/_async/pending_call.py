"""One request on an asyncio connection, and the future of its outcome."""

from __future__ import annotations

import asyncio
from collections import deque

import msgspec

from ..outcome import Outcome
from ..request import Request


class PendingCall(msgspec.Struct, eq=False):
    """A request that is queued or sent, and not answered.

    Attributes:
        request: what is sent.
        future: of its outcome.
        since: when it was submitted, then when it was sent.
    """

    request: Request
    future: asyncio.Future[Outcome]
    since: float

    def answer(self, outcome: Outcome) -> None:
        """Set the outcome, unless the call has one or its caller is gone."""
        if not self.future.done():
            self.future.set_result(outcome)

    def fail(self, error: BaseException) -> None:
        """Raise *error* in the caller, unless the call has an outcome or its caller is gone."""
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # mark it as retrieved: other calls raise it as well


def answer_late(
    queued: deque[PendingCall], sent_before: float, outcome: Outcome
) -> deque[PendingCall]:
    """Answer the *queued* calls from before a moment with *outcome*, and return the others."""
    left = deque[PendingCall]()
    for call in queued:
        if call.future.done() or call.since <= sent_before:
            call.answer(outcome)
        else:
            left.append(call)
    return left
