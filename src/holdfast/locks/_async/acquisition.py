"""Acquire one permit, from the first call to the lease."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final, Literal, overload

from ...core.clock import Deadline, since_boot
from ...core.concurrency._async.cancellation import run_shielded
from ...core.concurrency._async.primitives import AutoResetEvent
from ...core.definitions import log_kept
from ...core.renewer import LONGEST_NAP_S
from ...core.stored import stored_score
from ...core.telemetry import during
from ...errors import (
    DefinitionConflict,
    HoldfastError,
    LockTimeout,
    NotDefined,
    OutcomeUnknown,
    ServerUnavailable,
)
from .. import keys
from ..waiters import UnitWaiters, Waiter
from .lease import AsyncLease
from .permits import AsyncPermits

CHECK_EVERY_S: Final = 0.8
"""Seconds between two checks of a waiter for a grant that it missed. It is less than `_CLAIM_S`."""

_SHORTEST_CHECK_S: Final = 0.01

_QUEUE_CHECK_EVERY: Final = 4
"""Every fourth check reads whether the waiter is still queued; the others read the holders."""

_ASK_EVERY: Final = 40
"""Number of checks (half a minute) after which a waiter calls `acquire.lua` in any case. The call
updates the server time, extends the life of the wait queue, and repairs unexpected states."""

_CLAIM_S: Final = 1.0
"""Longest *claim* in seconds: the time in which a waiter must confirm a granted permit."""

_CLAIM_MARGIN_S: Final = 0.05
_SHORT_CLAIM_S: Final = 2 * LONGEST_NAP_S
"""If a claim is shorter, the waiter confirms it by a call of its own. Otherwise the renewer
confirms it, which may take a nap and a round trip."""

_SERVER_TIME_S: Final = 60.0
"""Seconds after a reply during which the server's time is computed with the local clock. In that
time the two clocks drift apart by less than `_CLAIM_MARGIN_S`."""

_SUBSCRIBED_S: Final = 1.0
"""Seconds that a waiter waits for its subscription. Without one it relies on its checks."""


@overload
async def acquire(permits: AsyncPermits, timeout_s: float | None) -> AsyncLease: ...


@overload
async def acquire(
    permits: AsyncPermits, timeout_s: float | None, *, waits: Literal[False]
) -> AsyncLease | None: ...


async def acquire(
    permits: AsyncPermits, timeout_s: float | None, *, waits: bool = True
) -> AsyncLease | None:
    """Acquire a permit: with one call on the fast path, or otherwise with an `AsyncAcquisition`.

    If an exception interrupts this at any line, release the permit and leave the wait queue.

    Args:
        permits: the permits of the lock or semaphore.
        timeout_s: seconds to wait; None: no limit.
        waits: whether to wait for a permit. Otherwise return None if no permit is free.
    """
    member, acquisition, lease = permits.new_name(), None, None
    try:
        began, asked_at = time.monotonic(), since_boot()
        permits.waiters.arrive(permits.unit, member, asked_at)
        reply, is_lost = None, False
        try:
            reply = await permits.try_acquire(member)
        except OutcomeUnknown:
            is_lost = True
        if isinstance(reply, bytes):
            lease = AsyncLease(permits, member, int(reply), asked_at, in_flight=False)
        else:
            acquisition = AsyncAcquisition(permits, timeout_s, began, member, is_lost=is_lost)
            if reply is not None:
                acquisition.first_reply = reply, asked_at
            lease = await (acquisition.lease() if waits else acquisition.lease_at_once())
        permits.waiters.depart(permits.unit, member)
        return lease  # noqa: TRY300 (an exception may interrupt this line as well)
    except BaseException as error:
        try:
            if lease is not None:
                await run_shielded(lease.give_up)
            elif acquisition is not None:
                await acquisition.leave(error)
            elif not isinstance(error, ServerUnavailable):
                await run_shielded(partial(give_up, permits, member, in_flight=True))
        finally:
            permits.waiters.depart(permits.unit, member)
        raise


async def give_up(permits: AsyncPermits, member: str, waiter: str = "", *, in_flight: bool) -> bool:
    """Release the permit of *member*, and leave the wait queue. Return False if that fails.

    Args:
        permits: the permits of the lock or semaphore.
        member: name of the acquisition.
        waiter: member of the wait queue that stands for the acquisition; empty: it is not queued.
        in_flight: whether a call of the acquisition may still be in flight.
    """
    try:
        await permits.end(member, waiter, in_flight=in_flight, durable=False)
    except HoldfastError:  # The permit expires by itself.
        return False
    return True


class AsyncAcquisition:
    """One acquisition of a permit, which may call several times and wait in the queue.

    All calls have the same name, which is unique. So a call with a lost reply can be repeated or
    undone, and no permit is granted twice.

    Args:
        permits: the permits of the lock or semaphore.
        timeout_s: seconds to wait; None: no limit.
        began: local monotonic time when the wait began.
        member: name of the acquisition.
        is_lost: whether the reply to the call on the fast path was lost.

    Attributes:
        first_reply: the reply to the call on the fast path, and when the call was sent (by
            `since_boot`); None: there was no reply, or it has been processed.
    """

    def __init__(
        self,
        permits: AsyncPermits,
        timeout_s: float | None,
        began: float,
        member: str,
        *,
        is_lost: bool,
    ) -> None:
        self.first_reply: tuple[Any, float] | None = None
        self._permits = permits
        self._unit = permits.unit
        self._began = began
        self._deadline = Deadline(timeout_s, began)
        self._member = member
        self._is_lost = is_lost
        self._holder = ""
        self._ticket = ""
        self._waiter = ""  # member of the wait queue for this acquisition; empty: not queued
        self._in_flight = is_lost  # whether a call may be in flight
        # When the local clock showed `_asked_at`, the server's clock showed at most `_server_ms`.
        self._asked_at = 0.0
        self._server_ms = 0
        self._first_end_ms = 0
        self._checks = 0

    async def leave(self, error: BaseException) -> None:
        """Release the permit and leave the wait queue after *error*."""
        # An exception that is not of Holdfast may interrupt any line, even after a grant.
        in_flight = self._in_flight or not isinstance(error, HoldfastError)
        if in_flight or self._waiter:
            await run_shielded(
                partial(give_up, self._permits, self._member, self._waiter, in_flight=in_flight)
            )

    async def lease(self) -> AsyncLease:
        """Wait for a permit, and return its lease.

        Raises:
            LockTimeout: No permit was free in time.
        """
        with during(self._permits.caller.settings.telemetry, "wait", self._unit) as waiting:
            lease = await self._outcome(waits=True)
            waiting.ended("timeout" if lease is None else "granted")
        if lease is None:
            waited_s = time.monotonic() - self._began
            raise LockTimeout(str(self._unit), waited_s, self._holder)
        return lease

    async def lease_at_once(self) -> AsyncLease | None:
        """Return the lease of a free permit; None if no permit is free."""
        return await self._outcome(waits=False)

    async def _outcome(self, *, waits: bool) -> AsyncLease | None:
        at_once = not waits or self._deadline.passed
        channel = self._permits.waiters.channel(self._unit)
        if at_once or self._is_lost or self.first_reply is not None or not channel:
            lease = await self._ask()
            if lease is not None or at_once:
                return lease
        return await self._wait()

    async def _ask(self) -> AsyncLease | None:
        """Call `acquire.lua`. Return the lease of a new or already granted permit, or None."""
        if self.first_reply is not None:
            (reply, asked_at), self.first_reply = self.first_reply, None
            return self._granted(reply, asked_at)
        in_flight, self._in_flight = self._in_flight, True  # Stays True if this is cancelled.
        repeated, self._is_lost = self._is_lost, False
        asked_at = since_boot()
        try:
            reply = await self._permits.acquire(self._member, self._ticket, repeated=repeated)
            self._in_flight = in_flight
        except ServerUnavailable:
            self._in_flight = in_flight
            raise
        except OutcomeUnknown:
            asked_at = since_boot()
            reply = await self._permits.acquire(self._member, self._ticket, repeated=True)
        return self._granted(reply, asked_at)

    def _granted(self, reply: Any, asked_at: float) -> AsyncLease | None:
        """Return the lease that *reply* grants. Otherwise store the reply's values; return None."""
        match reply[0]:
            case fence if len(reply) == 1:
                return self._lease(int(fence), asked_at)
            case b"granted":
                if len(reply) > 3:
                    limit = f"the limit of {self._unit}"
                    log_kept(limit, int(reply[3]), self._permits.options.limit)
                return self._lease(int(reply[2]), asked_at)
            case b"queued":
                self._ticket = reply[2].decode()
                self._asked_at, self._server_ms = asked_at, int(reply[3])
                self._first_end_ms = stored_score(reply[4], self._permits.holders)
                self._holder = reply[5].decode(errors="backslashreplace")
            case b"busy":
                self._holder = reply[2].decode(errors="backslashreplace")
            case b"conflict":
                what = f"the limit of {self._unit}"
                raise DefinitionConflict(what, int(reply[2]), self._permits.options.limit)
            case b"undefined":
                raise NotDefined(f"the limit of {self._unit}")
            case _:
                action, reason = f"locks/acquire on {self._unit}", "the answer was too late"
                raise ServerUnavailable(action, reason)
        return None

    def _lease(self, fence: int, taken_at: float) -> AsyncLease:
        return AsyncLease(self._permits, self._member, fence, taken_at, in_flight=self._in_flight)

    async def _wait(self) -> AsyncLease | None:
        """Wait in the queue until a permit is granted. Return None at the deadline."""
        flag = AutoResetEvent()
        waiter = Waiter(flag)
        try:
            waiters = self._permits.waiters.enter(self._unit, self._member, waiter)
            if not waiters.is_live:  # The server removes a waiter that it cannot notify.
                await flag.wait(min(_SUBSCRIBED_S, self._deadline.left_s()))
                waiter.must_recheck = False
            await self._wait_for_earlier(flag)
            self._ticket, self._waiter = "0", f"{self._member} {waiters.channel}"
            lease = await self._ask()
            if lease is None:
                lease = await self._queued(flag, waiter, waiters)
        finally:
            self._permits.waiters.leave(self._unit, self._member)
        if lease is None:
            await give_up(self._permits, self._member, self._waiter, in_flight=self._in_flight)
            self._waiter = ""
        return lease

    async def _queued(
        self, flag: AutoResetEvent, waiter: Waiter, waiters: UnitWaiters
    ) -> AsyncLease | None:
        """Wait until *waiter*, which is queued, gets a permit. Return None at the deadline."""
        outage: Deadline | None = None
        while not self._deadline.passed:
            await flag.wait(self._next_check_s(waiter), waiters.wait)
            try:
                lease = self._claimed(waiter) or await self._check(waiter)
            except ServerUnavailable:
                waiter.must_recheck = True
                outage = outage or Deadline(self._permits.caller.settings.timeout_s)
                if outage.passed:
                    raise
                continue
            if lease is not None:
                return lease
            outage = None
        return None

    async def _wait_for_earlier(self, flag: AutoResetEvent) -> None:
        """Wait until all acquisitions that began earlier in this process have queued or ended.

        Stop waiting at the deadline of this acquisition.
        """
        waiters, unit, member = self._permits.waiters, self._unit, self._member
        while waiters.is_preceded(unit, member) and not self._deadline.passed:
            await flag.wait(min(_SUBSCRIBED_S, self._deadline.left_s()))
        # The next acquisition wakes in a later turn of the loop, after this one has sent its call.
        waiters.depart(unit, member)

    def _claimed(self, waiter: Waiter) -> AsyncLease | None:
        """Return the lease of a granted permit without a call, if its claim is long enough."""
        if waiter.grant is None:
            return None
        fence, ends_ms = waiter.grant
        now = since_boot()
        if now - self._asked_at > _SERVER_TIME_S:
            return None
        ends_at = min(self._asked_at + (ends_ms - self._server_ms) / 1000, now + _CLAIM_S)
        if ends_at - now < _SHORT_CLAIM_S:
            return None
        options = self._permits.options
        lease_s = (options.lease_ms - options.margin_ms) / 1000
        return self._lease(fence, ends_at - _CLAIM_MARGIN_S - lease_s)

    async def _check(self, waiter: Waiter) -> AsyncLease | None:
        """Call `acquire.lua` if a permit may be free or granted; find that out by a cheap read."""
        must_ask = waiter.grant is not None or waiter.must_recheck
        waiter.grant, waiter.must_recheck = None, False
        if must_ask or self._is_past(self._first_end_ms) or self._is_past(waiter.recheck_ms):
            waiter.recheck_ms = 0
            return await self._ask()
        self._checks += 1
        if self._checks % _ASK_EVERY == 0:
            must_ask = True
        elif self._checks % _QUEUE_CHECK_EVERY == 0:
            must_ask = not await self._is_queued()
        else:
            must_ask = not await self._is_taken()
        return await self._ask() if must_ask else None

    async def _is_taken(self) -> bool:
        """Return False if no permit is held, or one of the first is granted to this acquisition.

        Otherwise store when the first lease ends.
        """
        held = await self._read("ZRANGE", keys.holders(self._unit), 0, 3, "WITHSCORES")
        if not held or b"?" + self._member.encode() in held:
            return False
        self._first_end_ms = stored_score(held[1], keys.holders(self._unit))
        return True

    async def _is_queued(self) -> bool:
        """Return whether the waiter is still in the wait queue."""
        ticket = await self._read("ZSCORE", self._permits.wait_queue, self._waiter)
        return ticket is not None

    async def _read(self, *command: str | int) -> Any:
        return await self._permits.caller.read(self._unit, *command)

    def _next_check_s(self, waiter: Waiter) -> float:
        first_ms, recheck_ms = self._first_end_ms, waiter.recheck_ms
        ends_ms = min(first_ms, recheck_ms) or first_ms or recheck_ms  # 0: not set
        until_s = (ends_ms - self._latest_ms()) / 1000 if ends_ms else CHECK_EVERY_S
        return min(max(until_s, _SHORTEST_CHECK_S), CHECK_EVERY_S, self._deadline.left_s())

    def _is_past(self, ends_ms: int) -> bool:
        return 0 < ends_ms <= self._latest_ms()

    def _latest_ms(self) -> float:
        """Return the latest time that the server's clock can show now."""
        return self._server_ms + (since_boot() - self._asked_at) * 1000
