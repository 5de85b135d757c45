"""What became of one request on one connection."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from .barrier import DurabilityBarrier
from .settings import Address
from .slots import UNKNOWN_HOSTS

SUPERSEDED: Final = "SUPERSEDED"
"""How the error of `lua/parts/ledger.lua` begins."""

DAMAGED: Final = "DAMAGED"
"""How the error of `lua/parts/stored.lua` begins. A key follows, and what is wrong with it."""

_REDIRECTIONS: Final = frozenset(["MOVED", "ASK"])
_LOCATION: Final = re.compile(r"(?: script: (?:[0-9a-f]{40}, )?on @user_script:\d+\.)?$")
_OF_DAMAGE: Final = re.compile(
    r"^WRONGTYPE|hash value is not"
    r"|user_script:\d+: (?:attempt to|bad argument|Bad data|Missing bytes)"
    r"|(?:not an? (?:valid )?(?:integer|float)|must be strings or integers|is not a number"
    r"|[Ii]nvalid (?:stream ID|expire)|equal or smaller than|overflow|out of range).* script: "
)
"""Errors that only values can cause that are not Holdfast's, within a script that is."""

_NOT_NOW: Final = frozenset(["TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN"])


class ErrorReply(Exception):
    """The server answered with an error: the code, and what it said."""


class Replied(msgspec.Struct, frozen=True, gc=False):
    """The server answered with a value."""

    value: Any


class Unsent(msgspec.Struct, frozen=True):
    """The request did not reach the server whole: surely not applied."""

    reason: str


class Lost(msgspec.Struct, frozen=True):
    """The request was sent, the reply did not come: perhaps applied."""

    reason: str


class Refused(msgspec.Struct, frozen=True):
    """The server answered with an error, before (`applied` False) or while running the script."""

    reason: str
    applied: bool


class Damaged(Refused, frozen=True):
    """A script found what no script of Holdfast writes. Each further try ends in the same way.

    If a script ended in the middle (`applied`), its earlier lines stand.
    """


class Moved(msgspec.Struct, frozen=True):
    """The slot is elsewhere: for good, or (`ask`) for this request only. Not applied."""

    slot: int
    address: Address
    ask: bool


class Busy(msgspec.Struct, frozen=True):
    """Not now: the server is loading, failing over or moving the slot. Not applied."""

    reason: str


class NoScript(msgspec.Struct, frozen=True):
    """The server does not know the hash. Not applied."""


class Unable(msgspec.Struct, frozen=True):
    """The server does not support the barrier of a durable call. Not applied."""

    reason: str


Outcome = Replied | Unsent | Lost | Refused | Damaged | Moved | Busy | NoScript | Unable


def outcome_of(reply: Any, asked: Address) -> Outcome:
    """Return the outcome of a *reply* from the server at *asked*."""
    if isinstance(reply, ErrorReply):
        return _of_error(str(reply), asked)
    return Replied(reply)


def outcome_of_all(replies: list[Any], asked: Address, marks: int) -> Outcome:
    """Return the outcome of several replies: the first error counts for all.

    Args:
        replies: to one request.
        asked: who gave them.
        marks: how many of them, the last ones, are those of a marker (`Request.marked`).
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
    # An error inside a script ends in "script: <sha1>, on @user_script:<line>.": its earlier lines
    # stand. Every other error was raised before the first line ran; the ledger's, before any write.
    inside = "script: " in text and code not in (SUPERSEDED, DAMAGED)
    if code == "NOSCRIPT":
        return NoScript()
    if code in _REDIRECTIONS:
        slot, _, address = rest.partition(" ")
        host, _, port = address.rpartition(":")
        if not slot.isdecimal() or not port.isdecimal():  # so it does not say where
            return Busy(text)
        # An unknown host means: the one you asked, at another port.
        host = asked[0] if host in UNKNOWN_HOSTS else host
        return Moved(int(slot), (host, int(port)), ask=code == "ASK")
    if code in _NOT_NOW:
        return Busy(text)
    if code == DAMAGED or _OF_DAMAGE.search(text):
        return Damaged(_LOCATION.sub("", rest if code == DAMAGED else text), applied=inside)
    return Refused(text, applied=inside)
