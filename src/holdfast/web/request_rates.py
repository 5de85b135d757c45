"""Limit the rates of users and addresses, for all processes of a namespace together."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from .. import AsyncHoldfast, AsyncPermit, ClientClosed, HoldfastError, Limit, RateLimited
from ..errors.one_line_logger import logger_of
from .problems import too_many
from .token_buckets import MAX_NAMES, TokenBuckets

ALONE_S: Final = 5.0
"""Seconds for which a process counts only its own requests after the server could not count."""

WARNING_S: Final = 60.0
"""Seconds between two warnings that a process counts only its own requests."""

REMEMBERED_S: Final = 1.0
"""Longest time for which a process refuses a name without asking the server again."""

logger: Final = logger_of("holdfast.web")


class RequestRates:
    """Makes the rate limiters of one application.

    While the server cannot count, each process counts only its own requests.

    Args:
        hf: the client of the Valkey or Redis server.
        prefix: the names of the limiters begin with it, as in `gateway:user`.
        clock: returns monotonic seconds.
    """

    def __init__(
        self, hf: AsyncHoldfast, prefix: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._hf = hf
        self._prefix = prefix
        self._alone_until = self._quiet_until = -math.inf
        self.clock = clock

    def limiter(self, name: str, limit: Limit) -> RequestRate:
        """Return the rate limiter called *name*."""
        return RequestRate(self, self._hf, f"{self._prefix}:{name}", limit)

    @property
    def is_alone(self) -> bool:
        """Return whether this process now counts only its own requests."""
        return self.clock() < self._alone_until

    def count_alone(self, error: HoldfastError) -> None:
        """Count only the requests of this process for `ALONE_S`, because of *error*.

        Raises:
            ClientClosed: the client of the application is closed.
        """
        if isinstance(error, ClientClosed):
            raise error
        now = self.clock()
        if now >= self._quiet_until:
            logger.warning("rates are limited by each process alone: %s", error)
            self._quiet_until = now + WARNING_S
        self._alone_until = now + ALONE_S


class RequestRate:
    """Limits how often each of many names does one thing. Made by `RequestRates`."""

    def __init__(self, rates: RequestRates, hf: AsyncHoldfast, name: str, limit: Limit) -> None:
        self._rates = rates
        self._most = limit.amount
        self._limiter = hf.rate_limit(name, limit)
        self._buckets = TokenBuckets(limit, rates.clock)
        self._refused: OrderedDict[str, _Refusal] = OrderedDict()

    async def require(self, name: str, detail: str, cost: int = 1) -> AsyncPermit | None:
        """Charge *name* with *cost*, unless its limit does not allow it now.

        A cost above the amount of the limit is allowed only if *name* was not charged in the last
        period.

        Returns:
            the permit, with which the cost can be corrected; None if the server did not count.

        Raises:
            Problem: the limit does not allow the cost. The text of the problem is *detail* and the
                seconds until the limit allows it.
        """
        if not cost:
            return None
        if wait_s := self._wait_of_refused(name, cost):
            raise too_many(detail, wait_s)
        if not self._rates.is_alone:
            try:
                return await self._acquire(name, cost, timeout=0.0)
            except RateLimited as refusal:
                self._remember(name, cost, refusal.retry_after)
                raise too_many(detail, refusal.retry_after) from None
            except HoldfastError as error:
                self._rates.count_alone(error)
        if wait_s := self._buckets.take(name, cost):
            raise too_many(detail, wait_s)
        return None

    async def wait_for(self, name: str, cost: int = 1) -> None:
        """Charge *name* with *cost* as soon as its limit allows it, in the order of the calls."""
        if not cost:
            return
        if not self._rates.is_alone:
            try:
                await self._acquire(name, cost, timeout=None)
            except HoldfastError as error:
                self._rates.count_alone(error)
            else:
                return
        while wait_s := self._buckets.take(name, cost):  # noqa: ASYNC110 (a bucket has no event)
            await asyncio.sleep(wait_s)

    async def has_passed(self, name: str) -> bool:
        """Return whether *name* was charged in the last period; False if the server cannot say."""
        with suppress(HoldfastError):
            [usage] = (await self._limiter.of(name).peek()).limits
            return usage.used > 0
        return False

    async def _acquire(self, name: str, cost: int, *, timeout: float | None) -> AsyncPermit:
        """Charge *name* with *cost* on the server. See `AsyncRateLimiter.acquire`."""
        fitting = min(cost, self._most)
        permit = await self._limiter.of(name).acquire(fitting, timeout=timeout)
        await add_cost(permit, cost - fitting)
        return permit

    def _remember(self, name: str, cost: int, wait_s: float) -> None:
        """Refuse *name* for a while without asking the server, so that a flood does not reach it.

        The server is asked again after `REMEMBERED_S`, because an operator may reset the limit.
        """
        now = self._rates.clock()
        self._refused[name] = _Refusal(cost, now + min(wait_s, REMEMBERED_S), now + wait_s)
        self._refused.move_to_end(name)
        if len(self._refused) > MAX_NAMES:
            self._refused.popitem(last=False)

    def _wait_of_refused(self, name: str, cost: int) -> float:
        """Return the seconds until *cost* fits, or 0.0 if the server must be asked."""
        refused, now = self._refused.get(name), self._rates.clock()
        if refused is None or cost < refused.cost or now >= refused.until:
            return 0.0
        return refused.fits_at - now


class _Refusal(NamedTuple):
    """Holds a cost that the server refused, so that the server need not be asked again soon.

    Attributes:
        cost: the refused cost.
        until: when the server is asked again.
        fits_at: when the cost fits, as the server said.
    """

    cost: int
    until: float
    fits_at: float


async def add_cost(permit: AsyncPermit, cost: int) -> None:
    """Charge *cost* in addition to what *permit* was charged, even above the limit.

    If the server fails, do not charge *cost* and do not raise: the work is already done.
    """
    if cost:
        with suppress(HoldfastError):
            [(name, charged)] = permit.charged.items()
            await permit.settle({name: charged + cost})
