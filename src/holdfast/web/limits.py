"""Limits of one user and one address, and the rate limiters that enforce them."""

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
"""Names that a rate limiter keeps. The one that was used longest ago is dropped first."""

MAX_PAIRS: Final = 100_000
"""The same for pairs of users: one user can make many of them."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with a burst.

    Attributes:
        per_second: how many are allowed in the long run.
        burst: how many at once, after a rest.
    """

    per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a gateway. Each of its processes counts alone.

    Rates of users are in units of cost: a request or a frame costs 1, and more if it is expensive
    (docs/gateway.md#limits).

    Attributes:
        user: cost of the requests and frames of one user.
        address: requests and frames from one address, of all users (IPv6: from one /64).
        failures: wrong tokens from one address. Requests with valid tokens are not affected.
        request_bytes: size of one request, or of one frame.
        waiting: long polls and streams of one user at the same time.
        timeout: seconds that one long poll may wait.
        members: members of a chat that is created or extended through the gateway.
        chats: chats that one user creates.
        invitations: how often one user adds the same other user to chats.
        unanswered: messages from one user to the mailbox of another user who has not answered.
        arriving: WebSockets of one address that have not sent a valid token yet.
        connections: open connections of one address (`holdfast serve` only).
        all_connections: open connections of all addresses (`holdfast serve` only). The limit of
            the process on open files lowers it.
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


class RateLimiter:
    """A token bucket for each of many names.

    Args:
        rate: of each name.
        clock: returns monotonic seconds.
        max_names: names that are kept at a time.
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
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, cost: float = 1.0) -> float:
        """Take *cost* from the bucket of *name*. Return 0.0, or the seconds until it has enough.

        A cost above the burst needs a full bucket and leaves a debt.
        """
        if not cost:
            return 0.0
        left, now = self._now(name)
        short = max(0.0, min(cost, self._rate.burst) - left)
        self._keep(name, left if short else left - cost, now)
        return short / self._rate.per_second

    def charge(self, name: str, cost: float) -> None:
        """Take *cost* from the bucket of *name*, even if that leaves a debt."""
        left, now = self._now(name)
        self._keep(name, left - cost, now)

    def require(self, name: str, detail: str, cost: float = 1.0) -> None:
        """Take *cost* from the bucket of *name*.

        Raises:
            Problem: the bucket has less. The problem consists of *detail* and of the time after
                which there will be enough.
        """
        if wait := self.take(name, cost):
            raise too_many(detail, wait)

    async def wait_for(self, name: str, cost: float = 1.0) -> None:
        """Take *cost* from the bucket of *name* as soon as the bucket has enough."""
        while wait := self.take(name, cost):  # noqa: ASYNC110 (a bucket has no event)
            await asyncio.sleep(wait)

    def _now(self, name: str) -> tuple[float, float]:
        """Return what the bucket of *name* has now, and the time."""
        now = self._clock()
        left, at = self._left.get(name, (float(self._rate.burst), now))
        return min(float(self._rate.burst), left + (now - at) * self._rate.per_second), now

    def _keep(self, name: str, left: float, now: float) -> None:
        self._left[name] = (left, now)
        self._left.move_to_end(name)
        if len(self._left) > self._max_names:
            self._left.popitem(last=False)


class ConcurrencyLimiter:
    """Counts what is open for each of many names, up to a limit.

    Args:
        most: how many may be open for one name.
        detail: the problem when there are more.
    """

    def __init__(self, most: int, detail: str) -> None:
        self._most = most
        self._detail = detail
        self._taken: Counter[str] = Counter()

    def take(self, name: str) -> bool:
        """Count one more for *name*. Return False if the limit is reached."""
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
    """Return a problem with status 429 that says when to try again."""
    seconds = max(1, math.ceil(wait))
    return Problem(
        "too-many-requests",
        f"{detail}; try again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def network_of(host: str) -> str:
    """Return the address, or the /64 of an IPv6 address, under which *host* is counted."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:  # a unix socket, or a test
        return host
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, 64), strict=False))
        address = address.ipv4_mapped
    return str(address)
