"""The options of a lock or semaphore, checked before any I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms, to_seconds

MIN_LEASE_MS: Final = 1_000
"""A short pause of the machine would end a shorter lease, and it could not be renewed 3 times."""

MAX_LEASE_MS: Final = 86_400_000
"""A day: a crashed holder keeps its permit so long, and the keys must outlive it."""

MAX_LIMIT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class LockOptions:
    """The options of a lock or semaphore.

    Attributes:
        lease_ms: milliseconds until a permit expires unless it is renewed.
        auto_renew: whether the client renews the lease by itself.
        max_hold_s: seconds until a permit is lost although it is renewed; None: never.
        limit: how many permits there are; None: as many as the server has stored.
    """

    lease_ms: int
    auto_renew: bool
    max_hold_s: float | None
    limit: int | None

    @classmethod
    def checked(
        cls,
        lease: Duration,
        auto_renew: bool,
        max_hold: Duration | None,
        limit: int | None,
    ) -> LockOptions:
        """Return the options of a user.

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
        return cls(lease_ms, bool(auto_renew), max_hold_s, limit)

    @property
    def margin_ms(self) -> int:
        """Return how much earlier a lease ends for its holder than for the server.

        The margin covers clocks that run at different speeds (1 %, more than any clock drifts), and
        the time until the holder notices the loss.
        """
        return 50 + self.lease_ms // 100

    @property
    def longest_hold_s(self) -> float | None:
        """Return how long a permit is held unless the user renews it; None: without limit."""
        lease_s = (self.lease_ms - self.margin_ms) / 1000
        if self.auto_renew:
            return self.max_hold_s
        return lease_s if self.max_hold_s is None else min(lease_s, self.max_hold_s)


def checked_limit(limit: int) -> int:
    """Return *limit* if it is an int from 1 to 1,000,000."""
    return checked_int(limit, "limit", 1, MAX_LIMIT)
