"""What one call remembers between its tries, and what its outcome means to the caller."""

from __future__ import annotations

from typing import Any, Final

from ...errors import OutcomeUnknown, ServerRefused, ServerUnavailable, Unsupported
from ..clock import Deadline
from ..connections.outcome import Lost, Moved, Outcome, Refused, Replied, Unable
from ..connections.request import ASKING, Request
from ..connections.seal import mark
from ..names import Unit

PLAIN_REDIRECTS: Final = 5
"""Redirections followed at once; after that the cluster is rearranging itself, so pause."""


class Attempt:
    """One call under way."""

    __slots__ = (
        "deadline",
        "durable",
        "harmless",
        "kind",
        "pauses",
        "reading",
        "redirects",
        "unit",
        "verb",
    )

    def __init__(
        self,
        verb: str,
        unit: Unit,
        kind: str,
        timeout_s: float,
        *,
        reading: bool,
        harmless: bool = False,
        durable: bool = False,
    ) -> None:
        self.verb = verb
        self.unit = unit
        self.kind = kind
        self.reading = reading
        self.harmless = harmless or reading  # so it may be sent again at will
        self.durable = durable  # so it waits for its seal
        self.deadline = Deadline(timeout_s)
        self.redirects = 0
        self.pauses = 0

    def whole(self, request: Request, *, asked: bool) -> Request:
        """What is sent for its *request*; *asked* when an `ASK` redirected it."""
        whole = ASKING + request if asked else request
        if not self.durable:
            return whole
        return whole.marked(ASKING + mark(self.unit) if asked else mark(self.unit))

    @property
    def action(self) -> str:
        """What it does, for messages."""
        if self.reading:
            return f"reading {self.unit} ({self.verb})"
        return f"{self.verb} on {self.unit}"


def value(outcome: Outcome, attempt: Attempt) -> Any:
    """The answer, or the error that the outcome is to the user."""
    if isinstance(outcome, Replied):
        return outcome.value
    match outcome:
        case Lost(reason) | Refused(reason, applied=True) if not attempt.harmless:
            raise OutcomeUnknown(attempt.action, reason)
        case Unable(reason):
            raise Unsupported(attempt.action, reason, harmless=attempt.harmless)
        case Refused(reason):
            raise ServerRefused(attempt.action, reason, harmless=attempt.harmless)
        case _:
            raise ServerUnavailable(attempt.action, said(outcome), harmless=attempt.harmless)


def said(outcome: Outcome) -> str:
    """Why it was not answered, and surely not applied."""
    if isinstance(outcome, Moved):
        return f"slot {outcome.slot} kept moving, last to {outcome.address}"
    return getattr(outcome, "reason", None) or "the server forgot the script just sent"
