# Generated from _async/permits.py by tools/unasync.py: edit that, then run `make sync`.
"""The places of one lock or semaphore, as a process takes them and gives them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ...core._sync.caller import Argument, Caller
from ...core._sync.prepared_call import PreparedCall
from ...core.clock import since_boot
from ...core.names import Unit
from ...core.renewer import Lease as Kept
from ...core.renewer import Renewer
from ...core.script import Script
from ...errors import OutcomeUnknown, ServerUnavailable
from ..lost_signal import Loss
from ..options import LockOptions
from ..waiters import WaiterRegistry

ACQUIRE: Final = Script.load("holdfast.locks", "acquire")
RELEASE: Final = Script.load("holdfast.locks", "release")
RENEW: Final = Script.load("holdfast.locks", "renew")


class Places:
    """What all acquisitions of one unit share.

    Args:
        caller: how to reach the server.
        renewer: keeps what is held.
        lobby: where to wait.
        unit: the lock or semaphore.
        terms: on which places are held.
    """

    def __init__(
        self,
        caller: Caller,
        renewer: Renewer,
        waiters: WaiterRegistry,
        unit: Unit,
        terms: LockOptions,
    ) -> None:
        self.caller = caller
        self.waiters = waiters
        self.unit = unit
        self.terms = terms
        self.keep = renewer.keep
        self.drop = renewer.drop
        self._acquire_keys = ACQUIRE.keys(unit)
        self._release_keys = RELEASE.keys(unit)
        self._renewer = renewer
        self._margin_ms = terms.margin_ms
        self._longest_hold_s = terms.longest_hold_s
        self._renewed = RENEW.keys(unit)
        self._limit: Argument = "" if terms.limit is None else terms.limit
        self._acquire = PreparedCall(
            caller, ACQUIRE, unit, self._acquire_keys, terms.lease_ms, self._limit
        )
        self._release = PreparedCall(caller, RELEASE, unit, self._release_keys)

    def limited(self, limit: int) -> Places:
        """The same places, for who says that there are *limit*."""
        terms = replace(self.terms, limit=limit)
        return Places(self.caller, self._renewer, self.waiters, self.unit, terms)

    def try_acquire(self, member: str) -> Any | None:
        """Ask for a place with one call; the reply, or None if `ask` has to follow.

        Raises:
            ServerUnavailable: the call did not run.
            OutcomeUnknown: it may have run.
        """
        if self.waiters.channel(self.unit):
            return None
        reply = self._acquire.attempt(member)
        if isinstance(reply, list):
            self.waiters.hear(self.unit, reply[1])
        return reply

    def release(self, member: str) -> Any:
        """Give a place back that no other call is about: the reply of `release.lua`."""
        try:
            reply = None
            if not self.waiters.channel(self.unit):
                reply = self._release.attempt(member)
            if isinstance(reply, bytes):
                return [reply]
        except OutcomeUnknown:
            return self.give_back(member, over=False, again=True)
        if reply is None:
            return self.give_back(member, over=False)
        self.waiters.hear(self.unit, reply[1])
        return reply

    def ask(self, member: str, ticket: str, *, again: bool) -> Any:
        """One call of `acquire.lua`: its reply; just the fence if nobody else is there.

        Args:
            member: the acquisition.
            ticket: its place in line; `0` for a new one, empty when it does not wait.
            again: the same was asked before, and the reply was lost.
        """
        args: list[Argument] = [member, self.terms.lease_ms, self._limit]
        channel = self.waiters.channel(self.unit)
        if channel or ticket:
            args += [channel, ticket]
        return self._call(ACQUIRE, self._acquire_keys, args, harmless=again)

    def give_back(
        self,
        member: str,
        waiter: str = "",
        *,
        over: bool,
        again: bool = False,
        durable: bool = True,
    ) -> Any:
        """End an acquisition, whatever has become of it: the reply of `release.lua`.

        Args:
            member: the acquisition.
            waiter: as it may stand in line.
            over: a call of it may still be on its way to the server.
            again: the reply of the same call was lost.
            durable: as of any call: False where nobody is told that it worked.
        """
        args: list[Argument] = [member]
        channel = self.waiters.channel(self.unit)
        if over or channel or waiter:
            args += [int(over), channel, waiter]
        try:
            if not again:
                return self._call(RELEASE, self._release_keys, args, durable=durable)
        except OutcomeUnknown:
            pass
        # Again it answers `gone` if the lost call has done it: only this caller can have done it.
        reply = self._call(RELEASE, self._release_keys, args, harmless=True, durable=durable)
        reply[0] = b"released" if reply[0] == b"gone" else reply[0]
        return reply

    def renew(self, member: str, fence: int) -> bool:
        """Let a place live for a whole lease from now on; False when it is lost."""
        args: list[Argument] = [self.terms.lease_ms, member, fence]
        lost = self.caller.call(RENEW, self.unit, self._renewed, args, harmless=True, durable=False)
        return not lost

    def kept(self, member: str, fence: int, taken_at: float, loss: Loss) -> Kept:
        """Return the lease of a place, as the terms say; `keep` has it renewed.

        Args:
            member: the acquisition.
            fence: of its grant.
            taken_at: by `since_boot`, from when on its lease counts; in the past when it is an
                heir's, who has only a short claim.
            loss: is told when it is lost.
        """
        telemetry, unit = self.caller.settings.telemetry, self.unit
        if telemetry is not None:
            loss.heard_by(lambda: telemetry.count("lost", unit, 1, ""))
        kept = Kept(
            self.unit,
            RENEW,
            self._renewed,
            member.encode(),
            fence,
            self.terms.lease_ms,
            taken_at,
            loss.tell,
            self._margin_ms,
        )
        if self._longest_hold_s is not None:
            kept.until = since_boot() + self._longest_hold_s
        return kept

    def _call(
        self,
        script: Script,
        keys: Sequence[str | bytes],
        args: Sequence[Argument],
        *,
        harmless: bool = False,
        durable: bool = True,
    ) -> Any:
        """Run *script*, and pass on what it says to waiters of this process."""
        missed = True  # a reply that is lost may have spared somebody here a ring
        try:
            reply = self.caller.call(
                script,
                self.unit,
                keys,
                args,
                harmless=harmless,
                durable=durable,
            )
            if isinstance(reply, bytes):  # nobody else is there
                reply = [reply]
            else:
                self.waiters.hear(self.unit, reply[1])
            missed = harmless  # it repeats what was lost before
        except ServerUnavailable:  # else it did not run
            missed = harmless
            raise
        finally:
            if missed:
                self.waiters.stir(self.unit)
        return reply
