"""Check the options of a row cache, without I/O."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, Self

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms, to_seconds
from ..core.codec import Codec
from ..core.definitions import checked_on_conflict
from .row import JITTER

OnShardsConflict = Literal["error", "keep"]

MAX_SHARDS: Final = 256
MAX_BATCH: Final = 500
"""Maximum number of rows in one call."""

MAX_EVERY_S: Final = 366 * 86_400
MIN_EVERY_S: Final = 0.01

LEAST_LEASE_MS: Final = 1000

ABSENT_TTL_MS: Final = 5000
"""Maximum milliseconds for which the absence of a row is fresh; short, because the row may be
inserted at any time."""


@dataclass(frozen=True, slots=True)
class RowCacheOptions:
    """Hold the options that a program uses for a cache.

    Attributes:
        shards: number of shards; None: the number that the server stores.
        on_conflict: what happens if the server stores another number of shards: `error` raises
            `DefinitionConflict`, `keep` logs a warning and uses the stored number.
        lease_ms: milliseconds that a load may take before another process loads the row.
        ttl_ms: milliseconds for which a row without a schedule is fresh.
        absent_ttl_ms: milliseconds for which the absence of a row without a schedule is fresh.
        stale_ms: milliseconds for which readers may get a row as stale.
        codec: encodes and decodes rows.
        into: type to which the codec decodes rows, or `Any`.
    """

    shards: int | None
    on_conflict: OnShardsConflict
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
        on_conflict: OnShardsConflict,
        lease: Duration,
        ttl: Duration,
        stale_for: Duration,
        codec: Codec,
        into: Any,
    ) -> Self:
        """Return the options that a user gives.

        Raises:
            TypeError, ValueError: An option is not valid.
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
            checked_on_conflict(on_conflict, OnShardsConflict),
            lease_ms,
            to_ms(ttl, "ttl"),
            min(to_ms(ttl, "ttl"), ABSENT_TTL_MS),
            round(to_seconds(stale_for, "stale_for") * 1000),
            codec,
            into,
        )


def checked_every(every: Any) -> int:
    """Return the period *every* in milliseconds; 0 if it is 0 or less, which unschedules the row.

    Raises:
        ValueError: *every* is not a number of seconds or a timedelta, not finite, or out of range.
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
    """Return *limit* if it is a valid number of rows for one call."""
    return checked_int(limit, "limit", 1, MAX_BATCH, unit="rows")


def jitter_permille() -> int:
    """Return a random factor, in thousandths, by which the time to the next refresh is varied."""
    return round(1000 * random.uniform(1 - JITTER, 1 + JITTER))
