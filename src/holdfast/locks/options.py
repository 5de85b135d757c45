"""On what terms places are held: what a user says when making a lock or a semaphore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms, to_seconds

MIN_LEASE_MS: Final = 1_000
"""A shorter lease would be lost by a pause of the machine, and could not be renewed three times."""

MAX_LEASE_MS: Final = 86_400_000
"""A day: a crashed holder keeps its place so long, and the keys must outlive it."""

MAX_LIMIT: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class LockOptions:
    """What holders agree to.

    Attributes:
        lease_ms: how long a place lives without a sign of life.
        auto_renew: whether it is renewed by itself.
        max_hold_s: how long it is held at most, renewed or not; None for ever.
        limit: how many hold at once; None takes what the server has.
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
        """Terms as a user gives them; ValueError and TypeError say what is wrong with them."""
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
        """How much sooner a lease ends for its holder than for the server.

        For clocks that run at different speeds (1 % is far more than any does), and for the time it
        takes to tell the holder.
        """
        return 50 + self.lease_ms // 100

    @property
    def longest_hold_s(self) -> float | None:
        """How long a place is held when nobody asks for more; None for ever."""
        lease_s = (self.lease_ms - self.margin_ms) / 1000
        if self.auto_renew:
            return self.max_hold_s
        return lease_s if self.max_hold_s is None else min(lease_s, self.max_hold_s)


def checked_limit(limit: int) -> int:
    """*limit* as a user gives it."""
    return checked_int(limit, "limit", 1, MAX_LIMIT)
