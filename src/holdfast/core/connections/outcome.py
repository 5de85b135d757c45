"""What became of one request on one connection."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)

from .settings import Address

SUPERSEDED: Final = "SUPERSEDED"
"""How the error of `lua/parts/ledger.lua` begins."""

ERROR_REPLIES = (ResponseError, BusyLoadingError, AuthenticationError)
"""What redis-py raises for an error that the server sent as its reply."""


class Replied(msgspec.Struct, frozen=True):
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


Outcome = Replied | Unsent | Lost | Refused | Moved | Busy | NoScript


def of_error(error: Exception, asked: Address) -> Outcome:
    """The outcome that an error reply of the server at *asked* stands for."""
    match error:
        case NoScriptError():
            return NoScript()
        case MovedError() | AskError():
            # An empty host means: the one you asked, at another port.
            address = (error.host or asked[0], error.port)
            return Moved(error.slot_id, address, ask=not isinstance(error, MovedError))
        case TryAgainError() | ClusterDownError() | BusyLoadingError() | ReadOnlyError():
            return Busy(_text(error))
    text = _text(error)
    # An error inside a script ends in "script: <sha1>, on @user_script:<line>.": its earlier lines
    # stand. Every other error was raised before the first line ran; the ledger's, before any write.
    inside = "script: " in text and not text.startswith(SUPERSEDED)
    return Refused(text, applied=inside)


def _text(error: Exception) -> str:
    code = getattr(error, "status_code", None)
    return f"{code} {error}" if code else str(error)
