"""Define the options of locks and semaphores, and check them before any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms, to_seconds
from ..core.definitions import OnConflict, checked_on_conflict

MIN_LEASE_MS: Final = 1_000
"""Shortest lease. A short pause of the machine would end a shorter one, and there would be no time
for three attempts to renew it."""

MAX_LEASE_MS: Final = 86_400_000
"""Longest lease: a day. A crashed holder keeps its permit so long. Keys of a lock live longer."""

MAX_LIMIT: Final = 1_000_000

FAMILIAR_OPTIONS: Final = {
    "timeout": "lease=… is how long a crashed holder keeps it; hold(timeout=…) limits the wait",
    "blocking_timeout": "hold(timeout=…) or acquire(timeout=…) limits the wait",
    "blocking": "try_acquire() does not wait",
    "expire": "lease=… is how long a crashed holder keeps it",
    "ttl": "lease=… is how long a crashed holder keeps it",
    "sleep": "waiters are notified and do not poll",
}
"""Options of locks in redis-py and similar libraries, and what to use instead."""

FAMILIAR_NAMES: Final = {
    "release": "only its holder releases it: lease = lock.acquire(), then lease.release()",
    "extend": "a lease is renewed automatically; lease.renew() renews it once",
    "reacquire": "a lease is renewed automatically; lease.renew() renews it once",
    "locked": "inspect() returns the holder and the waiters",
    "owned": "lease.lost is True if the holder has lost it",
}
"""Methods of locks in redis-py, and what to use instead."""


@dataclass(frozen=True, slots=True)
class LockOptions:
    """The options of a lock or semaphore.

    Attributes:
        lease_ms: milliseconds until a lease ends unless it is renewed.
        auto_renew: whether the client renews the lease by itself.
        max_hold_s: seconds until a lease ends even if the client renews it; None: no limit.
        limit: number of permits; None: the number that the server stores.
        on_conflict: what happens if the server stores another limit.
    """

    lease_ms: int
    auto_renew: bool
    max_hold_s: float | None
    limit: int | None
    on_conflict: OnConflict = "keep"

    @classmethod
    def checked(
        cls,
        lease: Duration,
        auto_renew: bool,
        max_hold: Duration | None,
        limit: int | None,
        on_conflict: OnConflict = "keep",
    ) -> LockOptions:
        """Return the options after checking them.

        Raises:
            TypeError: A value has the wrong type.
            ValueError: A value is out of range.
        """
        lease_ms = to_ms(lease, "lease")
        if not MIN_LEASE_MS <= lease_ms <= MAX_LEASE_MS:
            raise ValueError(f"lease must be 1 second to 1 day, got {lease!r}")
        max_hold_s = None if max_hold is None else to_seconds(max_hold, "max_hold")
        if max_hold_s is not None and max_hold_s * 1000 < MIN_LEASE_MS:
            raise ValueError(f"max_hold must be at least 1 second, got {max_hold!r}")
        limit = None if limit is None else checked_limit(limit)
        checked_on_conflict(on_conflict)
        return cls(lease_ms, bool(auto_renew), max_hold_s, limit, on_conflict)

    @property
    def margin_ms(self) -> int:
        """Return by how many milliseconds a lease ends earlier for its holder than on the server.

        The margin covers clocks of different speeds (1 %, more than any clock drifts), and the time
        until the holder notices the end.
        """
        return 50 + self.lease_ms // 100

    @property
    def longest_hold_s(self) -> float | None:
        """Return after how many seconds a lease ends unless the user renews it; None: no limit."""
        lease_s = (self.lease_ms - self.margin_ms) / 1000
        if self.auto_renew:
            return self.max_hold_s
        return lease_s if self.max_hold_s is None else min(lease_s, self.max_hold_s)


def checked_limit(limit: int) -> int:
    """Return *limit* if it is an int from 1 to 1,000,000."""
    return checked_int(limit, "limit", 1, MAX_LIMIT)
