"""Revoke the tokens and passes of a user that were issued up to a time, which the server stores."""

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
"""Seconds for which a process caches the revocation time of a user."""


@dataclass(frozen=True, slots=True)
class Validity:
    """Says how long a token is valid.

    Attributes:
        issued_at: when the token was issued, in seconds since 1970.
        ends_at: when the token expires, in seconds since 1970.
        left_s: seconds until the token expires; negative afterwards.
    """

    issued_at: float
    ends_at: float
    left_s: float


@runtime_checkable
class DatedAuthenticator(Protocol):
    """Authenticates with tokens that expire and can be revoked, as `Tokens` and `Passes` do."""

    def validity(self, token: str) -> Validity | None:
        """Return how long *token* is valid, or None if it is forged."""


async def revoke(hf: AsyncHoldfast, user: str, *, clock: Callable[[], float] = time.time) -> None:
    """Revoke all tokens and passes of *user* that were issued until now.

    Gateways and dashboards of the same server and namespace refuse them in each request, frame and
    delivery that begins more than one second after this function has returned. Tokens that are
    issued later are valid.

    Args:
        hf: a client of the same server and namespace as the gateway.
        user: the user name in the tokens and passes.
        clock: returns seconds since 1970. It must agree with the clock of the machine that issues
            the tokens.

    Raises:
        ValueError: *user* is empty.
    """
    if not user:
        raise ValueError("revoke() needs the name of a user")
    now = clock()
    try:
        await _not_before(hf, user).set({"user": user, "not_before": now}, int(now * 1e6))
    except StaleFence:  # a later revocation, which includes this one, is stored already
        return


class Revocations:
    """Finds out whether tokens are revoked. The answer is at most `READ_EVERY_S` seconds old.

    Args:
        hf: a client of the same server and namespace as the gateway.
    """

    def __init__(self, hf: AsyncHoldfast) -> None:
        self._hf = hf
        self._instants = TimedCache(self._instant, READ_EVERY_S)

    async def covers(self, user: str, issued_at: float) -> bool:
        """Return whether a token of *user* is revoked, issued *issued_at* seconds after 1970."""
        return issued_at <= await self._instants.get(user)

    async def _instant(self, user: str) -> float:
        """Return the time up to which the tokens of *user* are revoked, in seconds since 1970."""
        match await _not_before(self._hf, user).get():
            case None:
                return -math.inf
            case {"not_before": int() | float() as instant}:
                return float(instant)
        return math.inf  # the stored value is damaged: refuse all tokens, to be safe


def _not_before(hf: AsyncHoldfast, user: str) -> AsyncFenced:
    named = hashlib.sha256(user.encode("utf-8", "surrogatepass")).digest()
    return hf.fenced(f"holdfast-not-before-{urlsafe_b64encode(named[:18]).decode()}")
