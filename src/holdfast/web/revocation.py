"""Revocation of tokens and passes: for each user the instant before which none is valid."""

from __future__ import annotations

import hashlib
import math
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from .. import AsyncFenced, AsyncHoldfast, StaleFence
from .cache import TimedCache

READ_EVERY_S: Final = 1.0
"""Seconds between two reads of the instant of one user, in one process."""


@dataclass(frozen=True, slots=True)
class Validity:
    """Between which instants a token is valid.

    Attributes:
        issued_at: when it was made; seconds since 1970.
        ends_at: when it ends; seconds since 1970.
        left_s: seconds until it ends.
    """

    issued_at: float
    ends_at: float
    left_s: float


@runtime_checkable
class Dated(Protocol):
    """An authenticator whose tokens can be revoked and end: `Tokens` and `Passes` are."""

    def validity(self, token: str) -> Validity | None:
        """Return between which instants *token* is valid; None if it is forged."""


async def revoke(hf: AsyncHoldfast, user: str, *, clock: Callable[[], float] = time.time) -> None:
    """End all tokens and passes of *user* that were made until now.

    Gateways and dashboards of the same server and namespace refuse them in each request, frame and
    delivery that begins more than one second after this function has returned. New ones are valid.

    Args:
        hf: a client of the server and namespace of the gateway.
        user: whose tokens and passes.
        clock: seconds since 1970, as of the machine that makes tokens.
    """
    if not user:
        raise ValueError("say whose tokens and passes are revoked")
    now = clock()
    try:
        await _not_before(hf, user).set({"user": user, "not_before": now}, int(now * 1e6))
    except StaleFence:  # the same was done later already
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
        """Return whether a token of *user* that was made at *issued_at* is revoked."""
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
