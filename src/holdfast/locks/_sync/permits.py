# Generated from _async/permits.py by tools/unasync.py: edit that, then run `make sync`.
"""The places of one lock or semaphore, as a process takes them and gives them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic
from typing import Any, Final

from ...core._sync.caller import Argument, Caller, CallKind
from ...core.attempt import FirstAttempt
from ...core.clock import since_boot
from ...core.names import Unit
from ...core.renewer import Lease as Kept
from ...core.renewer import Renewer
from ...core.script import Script
from ...core.transport.outcome import Replied
from ...core.transport.request import PreparedCommand
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
        self.taking = PreparedCommand(ACQUIRE.sha1, self._acquire_keys, terms.lease_ms, self._limit)
        self.giving = PreparedCommand(RELEASE.sha1, self._release_keys)

    def limited(self, limit: int) -> Places:
        """The same places, for who says that there are *limit*."""
        terms = replace(self.terms, limit=limit)
        return Places(self.caller, self._renewer, self.waiters, self.unit, terms)

    def shortly(self, form: PreparedCommand, member: str) -> bytes | FirstAttempt | None:
        """Ask for a place (`taking`), or give it back (`giving`), as it is nearly always enough.

        Returns:
            The answer, when nobody else is there: the fence, or that it was released. Else what
            became of the call, for `ask` or `give_back` to go on from. None when it was not sent,
            because somebody waits in this process, or there is more to a call.
        """
        routes = None if self.waiters.channel(self.unit) else self.caller.straight
        lane = None if routes is None else routes.beaten(self.unit, CallKind.ORDINARY)
        if lane is None:
            return None
        since = monotonic()
        outcome = lane.submit(form.filled(member))
        if isinstance(outcome, Replied) and isinstance(outcome.value, bytes):
            return outcome.value
        return FirstAttempt(outcome, since, routes)

    def ask(
        self, member: str, ticket: str, *, again: bool, tried: FirstAttempt | None = None
    ) -> Any:
        """One call of `acquire.lua`: its reply; just the fence if nobody else is there.

        Args:
            member: the acquisition.
            ticket: its place in line; `0` for a new one, empty when it does not wait.
            again: the same was asked before, and the reply was lost.
            tried: what became of it `shortly` before.
        """
        args: list[Argument] = [member, self.terms.lease_ms, self._limit]
        channel = self.waiters.channel(self.unit)
        if channel or ticket:
            args += [channel, ticket]
        return self._call(ACQUIRE, self._acquire_keys, args, harmless=again, tried=tried)

    def give_back(
        self,
        member: str,
        waiter: str = "",
        *,
        over: bool,
        durable: bool = True,
        tried: FirstAttempt | None = None,
    ) -> Any:
        """End an acquisition, whatever has become of it: the reply of `release.lua`.

        Args:
            member: the acquisition.
            waiter: as it may stand in line.
            over: a call of it may still be on its way to the server.
            durable: as of any call: False where nobody is told that it worked.
            tried: what became of it `shortly` before.
        """
        args: list[Argument] = [member]
        channel = self.waiters.channel(self.unit)
        if over or channel or waiter:
            args += [int(over), channel, waiter]
        try:
            return self._call(RELEASE, self._release_keys, args, durable=durable, tried=tried)
        except OutcomeUnknown:
            # Again it answers `gone` if the lost call has done it, and nobody else can have.
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
        tried: FirstAttempt | None = None,
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
                tried=tried,
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
