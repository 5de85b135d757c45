"""Options of a row cache, checked before any I/O."""

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
"""Rows of one step at most."""

MAX_EVERY_S: Final = 366 * 86_400
MIN_EVERY_S: Final = 0.01

LEAST_LEASE_MS: Final = 1000

ABSENT_TTL_MS: Final = 5000
"""Milliseconds that the absence of a row is cached at most: the row may be inserted at any
moment."""


@dataclass(frozen=True, slots=True)
class RowCacheOptions:
    """Hold how this program uses a cache.

    Attributes:
        shards: number of shards; None: the number that the server stores.
        lease_ms: milliseconds that a load may take before another process loads the row.
        ttl_ms: milliseconds that a row without a schedule is fresh.
        absent_ttl_ms: milliseconds that the absence of a row without a schedule is fresh.
        stale_ms: milliseconds that a row may be returned after it was fresh.
        codec: encodes and decodes rows.
        into: type that the codec decodes rows into, or `Any`.
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
        """Return the options that a user gives.

        Raises:
            TypeError, ValueError: One of them is not valid.
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
    """Return a period in milliseconds; 0: the row is not refreshed.

    Raises:
        ValueError: It is not a number of seconds or a timedelta, not finite, or out of range.
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
    """Return *limit* if it is a number of rows that one step may take."""
    return checked_int(limit, "limit", 1, MAX_BATCH, unit="rows")


def jitter_permille() -> int:
    """Return a random factor for the period of a row until its next refresh, in thousandths."""
    return round(1000 * random.uniform(1 - JITTER, 1 + JITTER))
