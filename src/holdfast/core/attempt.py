"""The state of one call between its deliveries, and what its outcome means to the caller."""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

import msgspec

from ..errors import (
    DamagedData,
    DecodeError,
    OutcomeUnknown,
    ServerRefused,
    ServerUnavailable,
    Unsupported,
)
from .names import Unit
from .transport.barrier import marker
from .transport.outcome import Damaged, Lost, Moved, Outcome, Refused, Replied, Unable
from .transport.request import ASKING, CallKind, Request

PLAIN_REDIRECTS: Final = 5
"""Redirections followed at once; after that the cluster is rearranging itself, so pause."""


_MIDWAY: Final = "may have been applied in part, and another program has changed its keys"


class Attempt(msgspec.Struct):
    """One call under way.

    Attributes:
        verb: what it does.
        unit: to what.
        kind: of connection.
        until: the local monotonic time from which on it is not sent again.
        reading: whether it changes nothing.
        harmless: whether running it several times changes no more than once.
        durable: whether it waits for its barrier.
        redirects: how often it was sent to another server.
        pauses: how often it waited before it was sent again.
    """

    verb: str
    unit: Unit
    kind: CallKind
    until: float
    reading: bool
    harmless: bool
    durable: bool = False
    redirects: int = 0
    pauses: int = 0

    def left_s(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.until - monotonic())

    def whole(self, request: Request, *, asked: bool) -> Request:
        """Return what is sent for *request*; *asked* if an `ASK` redirected it."""
        whole = ASKING + request if asked else request
        if not self.durable:
            return whole
        return whole.marked(ASKING + marker(self.unit) if asked else marker(self.unit))

    @property
    def action(self) -> str:
        """Return what it does, for messages."""
        if self.reading:
            return f"reading {self.unit} ({self.verb})"
        return f"{self.verb} on {self.unit}"


def value(outcome: Outcome, attempt: Attempt) -> Any:
    """Return the answer in *outcome*, or raise the error that the user gets."""
    if isinstance(outcome, Replied):
        return outcome.value
    match outcome:
        case Damaged(reason, applied=True) if not attempt.harmless:
            raise DecodeError(f"a key of {attempt.unit}", f"{reason}; {attempt.action} {_MIDWAY}")
        case Damaged(reason):
            raise DamagedData(attempt.action, str(attempt.unit), reason)
        case Lost(reason) | Refused(reason, applied=True) if not attempt.harmless:
            raise OutcomeUnknown(attempt.action, reason)
        case Unable(reason):
            raise Unsupported(attempt.action, reason, harmless=attempt.harmless)
        case Refused(reason):
            raise ServerRefused(attempt.action, reason, harmless=attempt.harmless)
        case _:
            raise ServerUnavailable(attempt.action, reason_of(outcome), harmless=attempt.harmless)


def not_applied(outcome: Outcome, attempt: Attempt) -> bool:
    """Return whether *outcome* changed nothing, or nothing that a repeated call would double."""
    return not isinstance(outcome, Replied | Lost | Refused) or (
        isinstance(outcome, Lost) and attempt.harmless
    )


def reason_of(outcome: Outcome) -> str:
    """Return why a call was not answered, and certainly not applied."""
    if isinstance(outcome, Moved):
        return f"slot {outcome.slot} kept moving, last to {outcome.address}"
    return getattr(outcome, "reason", None) or "the server forgot the script just sent"
