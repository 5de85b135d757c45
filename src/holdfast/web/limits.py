"""How much one user, and one address, may ask of the gateway."""

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

REMEMBERED: Final = 10_000
"""Users, or addresses, whose rate is known at a time; who asked longest ago is forgotten first."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many in a row, and then so many a second.

    Attributes:
        per_second: how many are allowed in the long run.
        burst: how many at once, after a rest.
    """

    per_second: float
    burst: int


@dataclass(frozen=True, slots=True)
class Limits:
    """What the gateway allows. Each of its processes counts by itself.

    Attributes:
        user: requests, and frames of streams, of one user.
        address: requests from one address, of all users and of nobody (IPv6: from one /64).
        failures: wrong tokens from one address. Right ones are served all the same.
        request_bytes: of one request, or of one frame.
        waiting: long polls and streams of one user at the same time.
        timeout: seconds for which one long poll may wait.
    """

    user: Rate = Rate(50.0, 200)
    address: Rate = Rate(200.0, 800)
    failures: Rate = Rate(1.0, 20)
    request_bytes: int = 3 << 19
    waiting: int = 20
    timeout: float = 60.0


class Buckets:
    """A token bucket for each of many names.

    Args:
        rate: of each.
        clock: seconds that never go back.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take one from the bucket of *name*; 0.0, or the seconds until there is one."""
        now = self._clock()
        left, at = self._left.pop(name, (float(self._rate.burst), now))
        left = min(float(self._rate.burst), left + (now - at) * self._rate.per_second)
        short = max(0.0, 1.0 - left)
        self._left[name] = (left if short else left - 1.0, now)
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        return short / self._rate.per_second

    def demand(self, name: str, whose: str) -> None:
        """Take one from the bucket of *name*.

        Raises:
            Problem: there is none; it says when there will be.
        """
        if wait := self.take(name):
            raise too_many(f"too many requests of {whose}", wait)

    async def turn(self, name: str) -> None:
        """Take one from the bucket of *name*, when there is one."""
        while wait := self.take(name):  # noqa: ASYNC110 (a bucket has no event)
            await asyncio.sleep(wait)


class Places:
    """How many requests of each user wait at the moment.

    Args:
        most: how many may.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: Counter[str] = Counter()

    @contextmanager
    def one(self, user: str) -> Iterator[None]:
        """A place while the context lasts.

        Raises:
            Problem: all places of this user are taken.
        """
        if self._taken[user] >= self._most:
            raise too_many(f"{self._most} long polls and streams of this user wait already", 1.0)
        self._taken[user] += 1
        try:
            yield
        finally:
            self._taken[user] -= 1
            if not self._taken[user]:
                del self._taken[user]


def too_many(detail: str, wait: float) -> Problem:
    """429, and when to come again."""
    seconds = max(1, math.ceil(wait))
    return Problem(
        "too-many-requests",
        f"{detail}; come again in {seconds} s",
        headers={"Retry-After": str(seconds)},
    )


def address_of(host: str) -> str:
    """What to count *host* as: one user often has a whole /64 of IPv6 addresses."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:  # a unix socket, or a test
        return host
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is None:
            return str(ipaddress.ip_network((address, 64), strict=False))
        address = address.ipv4_mapped
    return str(address)
