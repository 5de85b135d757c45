"""Revocation: for each user the instant before which no token or pass is valid."""

from __future__ import annotations

import hashlib
import math
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from .. import AsyncFenced, AsyncHoldfast, StaleFence
from .timed_cache import TimedCache

READ_EVERY_S: Final = 1.0
"""Seconds between two reads of the instant of one user, in one process."""


@dataclass(frozen=True, slots=True)
class Validity:
    """The time in which a token is valid.

    Attributes:
        issued_at: seconds since 1970.
        ends_at: seconds since 1970.
        left_s: seconds until it ends.
    """

    issued_at: float
    ends_at: float
    left_s: float


@runtime_checkable
class DatedAuthenticator(Protocol):
    """An authenticator with tokens that end and can be revoked, such as `Tokens` and `Passes`."""

    def validity(self, token: str) -> Validity | None:
        """Return when *token* is valid, or None if it is forged."""


async def revoke(hf: AsyncHoldfast, user: str, *, clock: Callable[[], float] = time.time) -> None:
    """Revoke all tokens and passes of *user* that were issued until now.

    Gateways and dashboards of the same server and namespace refuse them in each request, frame and
    delivery that begins more than one second after this function has returned. New ones are valid.

    Args:
        hf: a client of the server and namespace of the gateway.
        user: the name in the tokens and passes.
        clock: returns seconds since 1970, as on the machine that issues tokens.
    """
    if not user:
        raise ValueError("revoke() needs the name of a user")
    now = clock()
    try:
        await _not_before(hf, user).set({"user": user, "not_before": now}, int(now * 1e6))
    except StaleFence:  # a later revocation is stored already
        return


class Revocations:
    """Knows which tokens are revoked, at most `READ_EVERY_S` late.

    Args:
        hf: a client of the server and namespace of the gateway.
    """

    def __init__(self, hf: AsyncHoldfast) -> None:
        self._hf = hf
        self._instants = TimedCache(self._instant, READ_EVERY_S)

    async def covers(self, user: str, issued_at: float) -> bool:
        """Return whether a token of *user* that was issued at *issued_at* is revoked."""
        return issued_at <= await self._instants.get(user)

    async def _instant(self, user: str) -> float:
        """Return the instant up to which the tokens of *user* are revoked."""
        match await _not_before(self._hf, user).get():
            case None:
                return -math.inf
            case {"not_before": int() | float() as instant}:
                return float(instant)
        return math.inf  # damaged: no token can be shown to be valid


def _not_before(hf: AsyncHoldfast, user: str) -> AsyncFenced:
    named = hashlib.sha256(user.encode("utf-8", "surrogatepass")).digest()
    return hf.fenced(f"holdfast-not-before-{urlsafe_b64encode(named[:18]).decode()}")
