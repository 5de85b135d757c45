"""Take, renew and release the permits of one lock or semaphore, by calls of its scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ...core._async.caller import Argument, AsyncCaller
from ...core._async.prepared_call import AsyncPreparedCall
from ...core.clock import since_boot
from ...core.definitions import given_option
from ...core.names import Unit
from ...core.renewer import RenewedLease, Renewer
from ...core.script import Script
from ...errors import OutcomeUnknown, ServerUnavailable
from .. import keys
from ..lost_signal import LostSignal
from ..options import LockOptions
from ..permit_scripts import PERMIT_SCRIPTS, RENEW, PermitScripts
from ..waiters import WaiterRegistry


class _ContendedCalls(NamedTuple):
    """The calls of a process that has waited for a permit, and so has a subscription.

    They are encoded in advance.

    Attributes:
        channel: channel of the subscription.
        queue: appends an acquisition to the wait queue.
        release: releases a permit.
    """

    channel: str
    queue: AsyncPreparedCall
    release: AsyncPreparedCall


class AsyncPermits:
    """The permits of one lock or semaphore, shared by all its acquisitions. A lock has one permit.

    Args:
        caller: calls the server.
        renewer: renews the leases.
        waiters: the waiters of this client.
        unit: the lock or semaphore.
        options: options of the lock or semaphore.
        scripts: the scripts for its kind of lock.

    Attributes:
        holders: key of the holders.
        wait_queue: key of the wait queue.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        renewer: Renewer,
        waiters: WaiterRegistry,
        unit: Unit,
        options: LockOptions,
        scripts: PermitScripts = PERMIT_SCRIPTS,
    ) -> None:
        self.caller = caller
        self.waiters = waiters
        self.unit = unit
        self.options = options
        self.keep: Callable[[RenewedLease], None] = renewer.keep
        self.drop: Callable[[RenewedLease], None] = renewer.drop
        self.holders: str = keys.holders(unit)
        self.wait_queue: str = scripts.wait_queue(unit)
        self._renewer = renewer
        self._scripts = scripts
        self._acquire_keys = scripts.acquire.keys(unit)
        self._release_keys = scripts.release.keys(unit)
        self._renew_keys = RENEW.keys(unit)
        self._margin_ms = options.margin_ms
        self._longest_hold_s = options.longest_hold_s
        self._limit: Argument = given_option(options.limit, options.on_conflict)
        self._acquire = AsyncPreparedCall(
            caller, scripts.acquire, unit, self._acquire_keys, options.lease_ms, self._limit
        )
        self._release = AsyncPreparedCall(caller, scripts.release, unit, self._release_keys)
        self._contended: _ContendedCalls | None = None

    def with_limit(self, limit: int) -> AsyncPermits:
        """Return the same permits with another limit."""
        options = replace(self.options, limit=limit)
        return AsyncPermits(
            self.caller, self._renewer, self.waiters, self.unit, options, self._scripts
        )

    def new_name(self) -> str:
        """Return a new name for an acquisition."""
        return self.waiters.new_name(self._scripts.mode)

    def check_client(self) -> None:
        """Raise `ClientClosed` if the client is closed."""
        self.caller.lifetime.check(f"holding {self.unit}")

    async def try_acquire(self, member: str) -> Any | None:
        """Call `acquire.lua` on the fast path, and return its reply.

        None: the fast path is not possible now, so call `acquire`.

        Raises:
            ServerUnavailable: The call did not run.
            OutcomeUnknown: The call may have run.
        """
        if self.waiters.channel(self.unit):
            return None
        reply = await self._acquire.attempt(member)
        if isinstance(reply, list):
            self.waiters.receive(self.unit, reply[1])
        return reply

    async def acquire(self, member: str, ticket: str, *, repeated: bool) -> Any:
        """Call `acquire.lua`, and return its reply as an array.

        Args:
            member: name of the acquisition.
            ticket: ticket of the acquisition in the wait queue; `0`: append it to the queue; empty:
                do not queue.
            repeated: whether the reply to the same call was lost before.
        """
        args: list[Argument] = [member, self.options.lease_ms, self._limit]
        channel, prepared = self.waiters.channel(self.unit), None
        if channel or ticket:
            args += [channel, ticket]
        if channel and ticket == "0" and not repeated:
            prepared = self._calls_of(channel).queue
        return await self._call(
            self._scripts.acquire, self._acquire_keys, args, prepared, harmless=repeated
        )

    async def release(self, member: str) -> Any:
        """Release the permit of *member*, and return the reply of `release.lua`.

        No other call of the acquisition may be in flight.
        """
        try:
            reply = None
            if not self.waiters.channel(self.unit):
                reply = await self._release.attempt(member)
            if isinstance(reply, bytes):
                return [reply]
        except OutcomeUnknown:
            return await self.end(member, in_flight=False, repeated=True)
        if reply is None:
            return await self.end(member, in_flight=False)
        self.waiters.receive(self.unit, reply[1])
        return reply

    async def end(
        self,
        member: str,
        waiter: str = "",
        *,
        in_flight: bool,
        repeated: bool = False,
        durable: bool = True,
    ) -> Any:
        """End an acquisition that may hold a permit or wait. Return the reply of `release.lua`.

        Args:
            member: name of the acquisition.
            waiter: member of the wait queue that stands for the acquisition; empty: it is not
                queued.
            in_flight: whether another call of the acquisition may be in flight.
            repeated: whether the reply to the same call was lost before.
            durable: see `AsyncCaller.call`.
        """
        args: list[Argument] = [member]
        release, channel = self._scripts.release, self.waiters.channel(self.unit)
        prepared = None
        if in_flight or channel or waiter:
            args += [int(in_flight), channel, waiter]
            if not in_flight and not waiter:
                prepared = self._calls_of(channel).release
        try:
            if not repeated:
                return await self._call(
                    release, self._release_keys, args, prepared, durable=durable
                )
        except OutcomeUnknown:
            pass
        # `gone` means that the call with the lost reply released it: no other client could have.
        reply = await self._call(release, self._release_keys, args, harmless=True, durable=durable)
        reply[0] = b"released" if reply[0] == b"gone" else reply[0]
        return reply

    async def renew(self, member: str, fence: int) -> bool:
        """Renew a lease once. Return False if it is lost."""
        args: list[Argument] = [self.options.lease_ms, member, fence]
        lost = await self.caller.call(
            RENEW, self.unit, self._renew_keys, args, harmless=True, durable=False
        )
        return not lost

    def renewed_lease(
        self, member: str, fence: int, taken_at: float, lost_signal: LostSignal
    ) -> RenewedLease:
        """Return the lease for the renewer. Pass it to `keep` to start the renewal.

        Args:
            member: name of the acquisition.
            fence: fence of the grant.
            taken_at: when the lease began, in the time of `since_boot`. For an unconfirmed grant, a
                time before the grant, so that the lease ends with the claim.
            lost_signal: set when the lease is lost.
        """
        telemetry, unit = self.caller.settings.telemetry, self.unit
        if telemetry is not None:
            lost_signal.add_listener(lambda: telemetry.count("lost", unit, 1, ""))
        renewed = RenewedLease(
            self.unit,
            RENEW,
            self._renew_keys,
            member.encode(),
            fence,
            self.options.lease_ms,
            taken_at,
            lost_signal.set,
            self._margin_ms,
        )
        if self._longest_hold_s is not None:
            renewed.until = since_boot() + self._longest_hold_s
        return renewed

    def _calls_of(self, channel: str) -> _ContendedCalls:
        """Return the packed calls of a process with a subscription to *channel*."""
        calls = self._contended
        if calls is None or calls.channel != channel:
            prepare, scripts = partial(AsyncPreparedCall, self.caller), self._scripts
            options = (self.options.lease_ms, self._limit)
            calls = self._contended = _ContendedCalls(
                channel,
                prepare(scripts.acquire, self.unit, self._acquire_keys, *options, channel, "0"),
                prepare(scripts.release, self.unit, self._release_keys, 0, channel, ""),
            )
        return calls

    async def _call(
        self,
        script: Script,
        keys: Sequence[str | bytes],
        args: Sequence[Argument],
        prepared: AsyncPreparedCall | None = None,
        *,
        harmless: bool = False,
        durable: bool = True,
    ) -> Any:
        """Call *script*, and pass the messages in its reply to the waiters of this process.

        Args:
            script: the script.
            keys: its keys.
            args: its arguments.
            prepared: the same call, packed in advance; None: it is not packed.
            harmless: as in `AsyncCaller.call`.
            durable: as in `AsyncCaller.call`.
        """
        is_lost = True  # whether a reply with messages for waiters of this process may be lost
        try:
            reply = None if prepared is None else await prepared.attempt(str(args[0]))
            if reply is None:
                reply = await self.caller.call(
                    script, self.unit, keys, args, harmless=harmless, durable=durable
                )
            if isinstance(reply, bytes):  # There is no other client.
                reply = [reply]
            else:
                self.waiters.receive(self.unit, reply[1])
            # A harmless call may have been sent several times, and an earlier reply may be lost.
            is_lost = harmless
        except ServerUnavailable:  # The call did not run, unless an earlier attempt did.
            is_lost = harmless
            raise
        finally:
            if is_lost:
                self.waiters.recheck(self.unit)
        return reply
