"""What a program says about a row cache: frozen, and checked before any I/O."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Self

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms, to_seconds
from ..core.codec import Codec
from .row import JITTER

MAX_SHARDS: Final = 256
MAX_BATCH: Final = 500
"""Rows in one step at most."""

MAX_EVERY_S: Final = 366 * 86_400
MIN_EVERY_S: Final = 0.01

LEAST_LEASE_MS: Final = 1000

ABSENT_TTL_MS: Final = 5000
"""What is not there may come any moment, and to ask for it costs little."""


@dataclass(frozen=True, slots=True)
class RowCacheOptions:
    """How this program uses a cache.

    Attributes:
        shards: how many it has; None: as many as the server says.
        lease_ms: how long a load may take before another one does it.
        ttl_ms: how long a row that nobody scheduled is fresh.
        absent_ttl_ms: likewise, where the source has no such row.
        stale_ms: how long a row is given out after it was fresh.
        codec: how rows are stored.
        into: what they are when they are read: a type that the codec knows, or anything.
    """

    shards: int | None
    lease_ms: int
    ttl_ms: int
    absent_ttl_ms: int
    stale_ms: int
    codec: Codec
    into: Any

    @classmethod
    def checked(
        cls,
        shards: int | None,
        lease: Duration,
        ttl: Duration,
        stale_for: Duration,
        codec: Codec,
        into: Any,
    ) -> Self:
        """The terms that a user asks for.

        Raises:
            TypeError, ValueError: they make no sense.
        """
        if shards is not None:
            shards = checked_int(shards, "shards", 1, MAX_SHARDS)
        lease_ms = to_ms(lease, "lease")
        if lease_ms < LEAST_LEASE_MS:
            raise ValueError(f"lease must be at least 1 second, got {lease}")
        for duration, what in ((ttl, "ttl"), (stale_for, "stale_for")):
            if to_seconds(duration, what) > MAX_EVERY_S:
                raise ValueError(f"{what} must be a year at most, got {duration}")
        return cls(
            shards,
            lease_ms,
            to_ms(ttl, "ttl"),
            min(to_ms(ttl, "ttl"), ABSENT_TTL_MS),
            round(to_seconds(stale_for, "stale_for") * 1000),
            codec,
            into,
        )


def checked_every(every: Any) -> int:
    """A period in ms; 0: none, the row is not to be refreshed.

    Raises:
        ValueError: it is no number of seconds and no timedelta, not finite, or out of range.
    """
    seconds = every.total_seconds() if isinstance(every, timedelta) else every
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise ValueError(f"every must be seconds or a timedelta, got {every!r}")  # noqa: TRY004
    if not math.isfinite(seconds):
        raise ValueError(f"every must be finite, got {every!r}")
    if seconds <= 0:
        return 0
    if not MIN_EVERY_S <= seconds <= MAX_EVERY_S:
        raise ValueError(f"every must be {MIN_EVERY_S} s to a year, got {every!r}")
    return round(seconds * 1000)


def checked_limit(limit: Any) -> int:
    """How many rows one step takes at most, if it is such a number."""
    return checked_int(limit, "limit", 1, MAX_BATCH, unit="rows")


def jitter_permille() -> int:
    """After how many thousandths of its period a row is refreshed next."""
    return round(1000 * random.uniform(1 - JITTER, 1 + JITTER))
