"""Define the outcomes of a request, and derive them from the server's replies."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from .barrier import DurabilityBarrier
from .rejection import Rejection, rejection_in
from .settings import Address
from .slots import UNKNOWN_HOSTS

SUPERSEDED: Final = "SUPERSEDED"
"""Code of the error that `lua/parts/ledger.lua` raises."""

DAMAGED: Final = "DAMAGED"
"""Code of the error that `lua/parts/stored.lua` raises. What is damaged, and its key, follow."""

_REDIRECTIONS: Final = frozenset(["MOVED", "ASK"])
_LOCATION: Final = re.compile(r"(?: script: (?:[0-9a-f]{40}, )?on @user_script:\d+\.)?$")
_OF_DAMAGE: Final = re.compile(
    r"^WRONGTYPE|hash value is not"
    r"|user_script:\d+: (?:attempt to|bad argument|Bad data|Missing bytes)"
    r"|(?:not an? (?:valid )?(?:integer|float)|must be strings or integers|is not a number"
    r"|[Ii]nvalid (?:stream ID|expire)|equal or smaller than|overflow|out of range).* script: "
)
"""Errors in scripts of Holdfast that can only occur if another program has changed a value."""

_NOT_NOW: Final = frozenset(["TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN"])


class ErrorReply(Exception):
    """The server answered with an error: a code, a blank and a text."""


class Replied(msgspec.Struct, frozen=True, gc=False):
    """The server answered with a value."""

    value: Any


class Unsent(msgspec.Struct, frozen=True):
    """The request did not reach the server as a whole, so it was certainly not applied.

    Attributes:
        reason: why.
        rejection: what the server, or TLS, rejects; empty if the server may be reachable later.
        remedy: what to do, if that is known.
    """

    reason: str
    rejection: Rejection = ""
    remedy: str = ""


class Lost(msgspec.Struct, frozen=True):
    """The request was sent, but its reply did not arrive, so it may have been applied."""

    reason: str


class Refused(msgspec.Struct, frozen=True):
    """The server answered with an error.

    Attributes:
        reason: the text of the error.
        applied: whether the error occurred inside a script, so that earlier writes of the script
            were applied; otherwise nothing was applied.
    """

    reason: str
    applied: bool

    @property
    def rejection(self) -> Rejection:
        """Return `credentials` or `permission` if the server rejects the client; otherwise ''."""
        return rejection_in(self.reason)


class Damaged(Refused, frozen=True):
    """A script found a value that another program must have changed. A repeat would fail too."""


class Moved(msgspec.Struct, frozen=True):
    """Another server must execute the request. Nothing was applied.

    Attributes:
        slot: the hash slot.
        address: address of the other server.
        ask: whether the other server executes only this request; otherwise it owns the slot.
    """

    slot: int
    address: Address
    ask: bool


class Busy(msgspec.Struct, frozen=True):
    """The server is loading, failing over or moving the slot. Nothing was applied."""

    reason: str


class NoScript(msgspec.Struct, frozen=True):
    """The server does not know the hash of the script. Nothing was applied."""


class Unable(msgspec.Struct, frozen=True):
    """The server does not support the barrier of a durable call. Nothing was applied."""

    reason: str


Outcome = Replied | Unsent | Lost | Refused | Damaged | Moved | Busy | NoScript | Unable


def outcome_of(reply: Any, asked: Address) -> Outcome:
    """Return the outcome of a *reply* from the server at *asked*."""
    if isinstance(reply, ErrorReply):
        return _of_error(str(reply), asked)
    return Replied(reply)


def outcome_of_all(replies: list[Any], asked: Address, marks: int) -> Outcome:
    """Combine the replies to one request into one outcome. The first error decides.

    Args:
        replies: all replies to the request, in order.
        asked: address of the server that sent them.
        marks: how many replies at the end belong to the marker (`Request.marked`). An error among
            these means that the outcome is lost, not that the request failed.
    """
    answers = replies[:-marks] if marks else replies
    for reply in answers:
        if isinstance(reply, ErrorReply):
            return _of_error(str(reply), asked)
    for reply in replies[len(answers) :]:
        if isinstance(reply, ErrorReply):
            return Lost(f"{asked[0]}:{asked[1]}: it was answered, then {reply}")
    return Replied(answers if len(answers) > 1 else answers[0])


def missing_durability(outcome: Outcome, barrier: DurabilityBarrier) -> str:
    """Return why writes are not durable, from the outcome of their barrier; empty if they are."""
    if isinstance(outcome, Replied):
        return barrier.missing(outcome.value)
    return str(getattr(outcome, "reason", outcome))


def _of_error(text: str, asked: Address) -> Outcome:
    code, _, rest = text.partition(" ")
    # An error inside a script ends in "script: <sha1>, on @user_script:<line>.": writes of earlier
    # lines were applied. All other errors occur before a script runs. SUPERSEDED and DAMAGED are
    # raised inside a script, but before its first write.
    inside = "script: " in text and code not in (SUPERSEDED, DAMAGED)
    if code == "NOSCRIPT":
        return NoScript()
    if code in _REDIRECTIONS:
        slot, _, address = rest.partition(" ")
        host, _, port = address.rpartition(":")
        if not slot.isdecimal() or not port.isdecimal():  # No usable address: try again later.
            return Busy(text)
        # An unknown host means the host that was asked, at another port.
        host = asked[0] if host in UNKNOWN_HOSTS else host
        return Moved(int(slot), (host, int(port)), ask=code == "ASK")
    if code in _NOT_NOW:
        return Busy(text)
    if code == DAMAGED or _OF_DAMAGE.search(text):
        return Damaged(_LOCATION.sub("", rest if code == DAMAGED else text), applied=inside)
    return Refused(text, applied=inside)
