"""`Decision`: what a rate limiter answers, also as header fields of HTTP."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from ..core.clock import from_epoch_ms
from .limit import Limit

_FIELDS: Final = 2
"""How many numbers a reply has for each limit. The reply to `peek` has one more."""


@dataclass(frozen=True, slots=True)
class LimitUsage:
    """The state of one limit after a decision.

    Attributes:
        limit: the limit.
        name: its name in header fields; it has the period if two limits have the same name.
        remaining: how much may pass now.
        reset_after: seconds until the whole amount may pass again, if nothing else passes.
        reserved: how much is reserved for later instants; only `peek` reports it.
    """

    limit: Limit
    name: str
    remaining: int
    reset_after: float
    reserved: int = 0

    @property
    def used(self) -> int:
        """Return how much of `limit.amount` passed in the last period or is reserved for later."""
        return self.limit.amount - self.remaining


class Decision:
    """The decision whether a call may proceed. As a bool, it is true if the call may.

    Made by `AsyncRateLimiter`.


    Attributes:
        allowed: whether the call may proceed. If not, nothing is charged.
        retry_after: seconds until the costs would fit; 0.0 if *allowed*.
    """

    __slots__ = ("_limits", "_usage", "_wall_ms", "allowed", "retry_after")

    def __init__(
        self,
        allowed: bool,
        wait_ms: int,
        wall_ms: int,
        limits: Sequence[Limit],
        usage: Sequence[int],
    ) -> None:
        self.allowed: bool = allowed
        self.retry_after: float = 0.0 if allowed else wait_ms / 1000
        self._wall_ms = wall_ms
        self._limits = limits
        self._usage = usage

    def __repr__(self) -> str:
        return f"Decision(allowed={self.allowed}, {dict(self.remaining)} remain)"

    @property
    def limits(self) -> tuple[LimitUsage, ...]:
        """Return the state of each limit."""
        usage, step = self._usage, len(self._usage) // len(self._limits)
        names = shown_names(self._limits)
        return tuple(
            LimitUsage(
                limit,
                names[i],
                usage[i * step],
                usage[i * step + 1] / 1000,
                usage[i * step + 2] if step > _FIELDS else 0,
            )
            for i, limit in enumerate(self._limits)
        )

    @property
    def decided_at(self) -> datetime:
        """Return when the server decided, by its clock."""
        return from_epoch_ms(self._wall_ms)

    def __bool__(self) -> bool:
        return self.allowed

    @property
    def remaining(self) -> Mapping[str, int]:
        """Return name → how much may pass now. The smallest number, if limits share a name."""
        found: dict[str, int] = {}
        for each in self.limits:
            found[each.limit.key] = min(each.remaining, found.get(each.limit.key, each.remaining))
        return found

    @property
    def reset_at(self) -> datetime:
        """Return when the whole amount of each limit may pass again, by the server's clock."""
        return self.decided_at + timedelta(seconds=max(each.reset_after for each in self.limits))

    def headers(self) -> dict[str, str]:
        """Return the header fields for a response.

        - `RateLimit-Policy` and `RateLimit` as in draft-ietf-httpapi-ratelimit-headers-10.
        - `Retry-After` if the call may not proceed.
        """
        policy = ", ".join(
            f'"{each.name}";q={each.limit.amount};w={math.ceil(each.limit.per_ms / 1000)}'
            for each in self.limits
        )
        usage = ", ".join(
            f'"{each.name}";r={each.remaining};t={math.ceil(each.reset_after)}'
            for each in self.limits
        )
        found = {"RateLimit-Policy": policy, "RateLimit": usage}
        if not self.allowed:
            found["Retry-After"] = str(max(1, math.ceil(self.retry_after)))
        return found


def shown_names(limits: Sequence[Limit]) -> list[str]:
    """Return the name of each limit in header fields. All names differ."""
    names = [limit.key for limit in limits]
    return [
        f"{limit.key}-{limit.per_ms / 1000:g}s" if names.count(limit.key) > 1 else limit.key
        for limit in limits
    ]
