"""Define the limits of each user and each address, and the limiters that enforce them."""

from __future__ import annotations

import asyncio
import ipaddress
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from .problems import Problem

MAX_NAMES: Final = 10_000
"""Names that a rate limiter remembers. It drops the least recently used name first."""

MAX_PAIRS: Final = 100_000
"""Pairs of users that a rate limiter remembers. It is larger, because each user has many pairs."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Defines a rate limit, as a token bucket.

    Attributes:
        per_second: actions, or units of cost, that are allowed per second in the long run.
        burst: actions, or units of cost, that are allowed at once after a time without any.
    """

    per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Defines the limits of a gateway. Each process of a gateway counts separately.

    Attributes:
        user: cost of the requests and frames of one user. Each costs 1 unit, and more if it is
            expensive (docs/gateway.md#limits).
        address: requests and frames of all users from one address (IPv6: from one /64 network).
        failures: wrong tokens from one address. Requests with valid tokens are not affected.
        request_bytes: bytes in one request body or one frame.
        waiting: open long polls and streams of one user.
        timeout: seconds that one long poll may wait.
        members: members of a chat that a user creates, or adds a member to, through the gateway.
        chats: chats that one user creates.
        invitations: how often one user adds the same other user to chats.
        unanswered: messages from one user to the mailbox of another user who has not answered.
        arriving: WebSockets of one address that have not sent a valid token yet.
        connections: open connections of one address (`holdfast serve` only).
        all_connections: open connections of all addresses (`holdfast serve` only). It is lower if
            the process may not open that many files.
    """

    user: Rate = Rate(50.0, 200)
    address: Rate = Rate(200.0, 800)
    failures: Rate = Rate(1.0, 20)
    request_bytes: int = 3 << 19
    waiting: int = 20
    timeout: float = 60.0
    members: int = 100
    chats: Rate = Rate(1 / 60, 50)
    invitations: Rate = Rate(1 / 600, 20)
    unanswered: Rate = Rate(1 / 60, 200)
    arriving: int = 32
    connections: int = 1_000
    all_connections: int = 10_000


class TokenBuckets:
    """Limits the rate of each of many names with a token bucket.

    Args:
        rate: the rate limit of each name.
        clock: returns monotonic seconds.
        max_names: names that the limiter remembers.
    """

    def __init__(
        self,
        rate: Rate,
        clock: Callable[[], float] = time.monotonic,
        *,
        max_names: int = MAX_NAMES,
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._max_names = max_names
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, cost: float = 1.0) -> float:
        """Take *cost* from the bucket of *name*. Return 0.0, or the seconds until it has enough.

        Take nothing if the bucket has too little. A cost above the burst needs a full bucket and
        makes its content negative.
        """
        if not cost:
            return 0.0
        tokens, now = self._refilled(name)
        missing = max(0.0, min(cost, self._rate.burst) - tokens)
        self._store(name, tokens if missing else tokens - cost, now)
        return missing / self._rate.per_second

    def charge(self, name: str, cost: float) -> None:
        """Take *cost* from the bucket of *name*, even if this makes its content negative."""
        tokens, now = self._refilled(name)
        self._store(name, tokens - cost, now)

    def require(self, name: str, detail: str, cost: float = 1.0) -> None:
        """Take *cost* from the bucket of *name*.

        Raises:
            Problem: the bucket has less than *cost*. The text of the problem is *detail* and the
                seconds until the bucket has enough.
        """
        if wait := self.take(name, cost):
            raise too_many(detail, wait)

    async def wait_for(self, name: str, cost: float = 1.0) -> None:
        """Take *cost* from the bucket of *name* as soon as the bucket has enough."""
        while wait := self.take(name, cost):  # noqa: ASYNC110 (a bucket has no event)
            await asyncio.sleep(wait)

    def _refilled(self, name: str) -> tuple[float, float]:
        """Return how many tokens the bucket of *name* has now, and the current time."""
        now, burst = self._clock(), float(self._rate.burst)
        tokens, at = self._buckets.get(name, (burst, now))
        return min(burst, tokens + (now - at) * self._rate.per_second), now

    def _store(self, name: str, tokens: float, now: float) -> None:
        self._buckets[name] = (tokens, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > self._max_names:
            self._buckets.popitem(last=False)


class ConcurrencyLimiter:
    """Limits how many things (connections, long polls) each of many names has open at once.

    Args:
        most: how many each name may have open.
        detail: the text of the problem that `hold` raises above the limit.
    """

    def __init__(self, most: int, detail: str) -> None:
        self._most = most
        self._detail = detail
        self._taken: Counter[str] = Counter()

    def take(self, name: str) -> bool:
        """Count one more for *name*. Count nothing and return False if the limit is reached."""
        if self._taken[name] >= self._most:
            return False
        self._taken[name] += 1
        return True

    def release(self, name: str) -> None:
        """Count one less for *name*."""
        self._taken[name] -= 1
        if self._taken[name] <= 0:
            del self._taken[name]

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Count one more for *name* while the context lasts.

        Raises:
            Problem: the limit is reached.
        """
        if not self.take(name):
            raise too_many(self._detail, 1.0)
        try:
            yield
        finally:
            self.release(name)


def too_many(detail: str, wait: float) -> Problem:
    """Return a problem with status 429: *detail*, and to try again after *wait* seconds."""
    seconds = max(1, math.ceil(wait))
    return Problem(
        "too-many-requests",
        f"{detail}; try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def network_of(host: str) -> str:
    """Return the name under which to count *host*: the address, or for IPv6 its /64 network."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:  # not an address: it is the name of a unix socket or of a test client
        return host
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, 64), strict=False))
        address = address.ipv4_mapped
    return str(address)
