"""Track one call over its attempts, and convert its outcome to a value or an error."""

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
"""Number of redirections that are followed without a pause. More of them mean that the cluster is
moving slots."""


_MIDWAY: Final = "may have been applied in part, and another program has changed its keys"


USE_CLUSTER: Final = "use a redis+cluster:// URL, or a RedisCluster client"
"""What to do if a client for one server reaches a node of a cluster."""

USE_SENTINEL_KWARGS: Final = (
    "the password in a URL is that of the servers; for a Sentinel with a password, pass a redis-py "
    "client with sentinel_kwargs"
)
"""What to do if a Sentinel rejects the credentials."""


class Attempt(msgspec.Struct):
    """The state of one call, which may be sent several times.

    Attributes:
        verb: name of the script or command.
        unit: the unit that the call is about.
        kind: kind of the call, which selects the connection.
        until: local monotonic time after which the call is not sent again.
        reading: whether the call changes nothing.
        harmless: whether running the call several times has the effect of running it once.
        durable: whether the call waits for a durability barrier.
        redirects: number of redirections to another server.
        pauses: number of pauses before the call was sent again.
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
        """Return the whole request to send: *request* with a marker if the call is durable.

        Args:
            request: the request of the call.
            asked: whether an `ASK` redirected the call.
        """
        whole = ASKING + request if asked else request
        if not self.durable:
            return whole
        return whole.marked(ASKING + marker(self.unit) if asked else marker(self.unit))

    @property
    def action(self) -> str:
        """Return the call in words, for error messages."""
        if self.reading:
            return f"reading {self.unit} ({self.verb})"
        return f"{self.verb} on {self.unit}"


def value(outcome: Outcome, attempt: Attempt) -> Any:
    """Return the value in *outcome*, or raise the error that the user gets."""
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
            raise ServerRefused(
                attempt.action, reason, harmless=attempt.harmless, rejection=outcome.rejection
            )
        case _:
            raise ServerUnavailable(
                attempt.action,
                reason_of(outcome),
                harmless=attempt.harmless,
                rejection=getattr(outcome, "rejection", ""),
                remedy=getattr(outcome, "remedy", ""),
            )


def not_applied(outcome: Outcome, attempt: Attempt) -> bool:
    """Return whether the call had no effect that matters.

    Either the server did not execute it, or its reply was lost and it is harmless to repeat.
    """
    return not isinstance(outcome, Replied | Lost | Refused) or (
        isinstance(outcome, Lost) and attempt.harmless
    )


def reason_of(outcome: Outcome) -> str:
    """Return why a call failed, from its *outcome*, for which `not_applied` returns True."""
    if isinstance(outcome, Moved):
        host, port = outcome.address
        return f"slot {outcome.slot} kept moving, last to {host}:{port}"
    return getattr(outcome, "reason", None) or "the server forgot the script just sent"
