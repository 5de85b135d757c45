"""Charge costs to one subject of a rate limiter, correct and read them, by calls of the scripts.

A *subject* is what a limiter counts separately, such as one user. Charging costs *reserves* the
earliest instant at which they fit into the limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Final

from ...core._async.caller import Argument, AsyncCaller
from ...core._async.prepared_call import AsyncPreparedCall
from ...core.concurrency._async.cancellation import run_shielded
from ...core.names import Unit
from ...core.script import Script
from ...core.stored import decoding
from ...errors import HoldfastError, OutcomeUnknown, ServerUnavailable
from .. import keys
from ..costs import OURS, mark_of, new_mark, tags_of
from ..decision import Decision
from ..definition import packed_limits
from ..limit import Limit
from .reservations import AsyncNewReservation, AsyncReservations

RESERVE: Final = Script.load("holdfast.limits", "reserve")
SETTLE: Final = Script.load("holdfast.limits", "settle")
PEEK: Final = Script.load("holdfast.limits", "peek")
RESET: Final = Script.load("holdfast.limits", "reset")

REPEATED_MS: Final = 300_000
"""Largest age in milliseconds of an operation that a user repeats; see `OutcomeUnknown`."""

_HEAD: Final = 4
_PREPARED: Final = 8
"""Largest number of prepared calls that a subject keeps: one for each timeout in use."""


class AsyncReservation:
    """The reply to one call of `reserve.lua`.

    Attributes:
        mark: the mark, which identifies the operation in the state of the subject.
        wait_s: seconds until the instant; if nothing was reserved, until the costs would fit.
        at_ms: the reserved instant, by the clock of the subject.
        decision: the reply in the form that users get.
    """

    __slots__ = ("_limits", "_reply", "at_ms", "is_reserved", "mark", "wait_s")

    def __init__(self, mark: str, reply: Any, limits: Sequence[Limit]) -> None:
        self.mark: str = mark
        self.is_reserved: bool = reply[0] == 1
        self.wait_s: float = reply[1] / 1000
        self.at_ms: int = reply[2]
        self._reply = reply
        self._limits = limits

    @property
    def decision(self) -> Decision:
        """Return the reply in the form that users get."""
        _, wait_ms, _, wall_ms, *usage = self._reply
        return Decision(self.is_reserved, wait_ms, wall_ms, self._limits, usage)


class AsyncSubject:
    """One subject of a limiter.


    Args:
        caller: calls the server.
        unit: the subject.
        limits: the limits of the limiter.
        reservations: sends new reservations.

    Attributes:
        tags: for each limit, the number that identifies its log; see `tags_of`.
        log_key: the key with the costs that have passed.
        sharing: reservations of subjects with equal *sharing* may be sent in one call.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        unit: Unit,
        limits: tuple[Limit, ...],
        reservations: AsyncReservations,
    ) -> None:
        self.caller = caller
        self.unit = unit
        self.limits = limits
        self.tags: tuple[int, ...] = tags_of(limits)
        self.log_key: str = keys.log(unit)
        self.sharing: tuple[str, int] = reservations.sharing(packed_limits(limits), unit.slot)
        self._reservations = reservations
        self._prepared: dict[Argument, AsyncPreparedCall] = {}
        self._usual = tuple(1 for _ in limits)

    async def reserve(
        self, costs: tuple[int, ...], longest_ms: Argument, op_id: str | None, repeat: Any
    ) -> AsyncReservation:
        """Reserve the earliest instant at which *costs* fit.

        If the reply is lost, repeat the call once. If an exception interrupts this at any line,
        undo the reservation.

        Args:
            costs: the cost for each limit.
            longest_ms: longest wait in milliseconds; empty: no limit.
            op_id: see `OutcomeUnknown`.
            repeat: called with an `op_id` to repeat the whole public call.
        """
        mark = new_mark() if op_id is None else mark_of(op_id)
        new = AsyncNewReservation(self, mark, longest_ms, costs)
        try:
            reply = None
            if op_id is None:
                reply = await self._reserve_new(new, repeat)
            if reply is None:
                args = [longest_ms, self._age(op_id), *self._described(costs)]
                reply = await self._repeated(RESERVE, mark, args, 1, repeat)
            with decoding(f"the answer of {self.unit}"):
                return AsyncReservation(mark, reply, self.limits)
        except HoldfastError:
            raise
        except BaseException:
            new.is_abandoned = True
            await run_shielded(partial(self.undo, mark, "", costs))
            raise

    async def reserve_alone(self, mark: str, longest_ms: Argument, costs: tuple[int, ...]) -> Any:
        """Reserve in one call, on the fast path if possible. Raise as `AsyncCaller.call`.

        Args:
            mark: mark of the operation.
            longest_ms: see `reserve`.
            costs: see `reserve`.
        """
        if costs == self._usual:
            reply = await self._prepared_call(longest_ms).attempt(mark)
            if reply is not None:
                return reply
        args = [mark, longest_ms, "", *self._described(costs)]
        return await self.caller.call(RESERVE, self.unit, [self.log_key], args)

    async def undo(self, mark: str, at_ms: Argument, costs: Sequence[int]) -> None:
        """Give back a reservation. Ignore a failure: then one reservation is lost.

        Args:
            mark: mark of the reservation.
            at_ms: instant of the reservation; empty: unknown.
            costs: costs of the reservation.
        """
        args = [new_mark(), "", mark, at_ms, *self._changes([-cost for cost in costs])]
        with suppress(HoldfastError):
            await self.caller.call(SETTLE, self.unit, SETTLE.keys(self.unit), args, durable=False)

    async def correct(
        self, at_ms: int, changes: Sequence[int], op_id: str | None, repeat: Any
    ) -> None:
        """Change the costs of a reservation.

        Args:
            at_ms: instant of the reservation.
            changes: what is added to the cost for each limit.
            op_id: see `OutcomeUnknown`.
            repeat: see `reserve`.
        """
        mark = new_mark() if op_id is None else mark_of(op_id)
        args = [self._age(op_id), "", at_ms, *self._changes(changes)]
        await self._repeated(SETTLE, mark, args, 0, repeat)

    async def peek(self, costs: tuple[int, ...]) -> Decision:
        """Return the usage, and whether *costs* would pass now."""
        args = self._described(costs)
        reply = await self.caller.call(PEEK, self.unit, PEEK.keys(self.unit), args)
        with decoding(f"the answer of {self.unit}"):
            wait_ms, wall_ms, *usage = reply
            return Decision(wait_ms == 0, wait_ms, wall_ms, self.limits, usage)

    async def reset(self) -> bool:
        """Forget what passed. Return whether there was anything."""
        keys = RESET.keys(self.unit)
        return bool(await self.caller.call(RESET, self.unit, keys, [], harmless=True))

    def _prepared_call(self, longest_ms: Argument) -> AsyncPreparedCall:
        call = self._prepared.get(longest_ms)
        if call is None:
            if len(self._prepared) >= _PREPARED:
                self._prepared.clear()
            args = (longest_ms, "", *self._described(self._usual))
            call = AsyncPreparedCall(self.caller, RESERVE, self.unit, [self.log_key], *args)
            self._prepared[longest_ms] = call
        return call

    async def _reserve_new(self, new: AsyncNewReservation, repeat: Any) -> Any | None:
        """Make a reservation for the first time. Return None if `_repeated` must do it."""
        began = monotonic()
        try:
            return await self._reservations.submit(new)
        except OutcomeUnknown as lost:
            again = [new.longest_ms, "", *self._described(new.costs)]
            return await self._again(lost, RESERVE, new.mark, again, 1, began, repeat)

    async def _repeated(
        self, script: Script, mark: str, args: list[Argument], age: int, repeat: Any
    ) -> Any:
        """Call *script*, and once more if the reply is lost. It is applied once.

        Args:
            script: the script; its first argument is a mark.
            mark: mark of the operation.
            args: its further arguments.
            age: position in *args* of the time since the first attempt.
            repeat: see `reserve`.

        Raises:
            OutcomeUnknown: the script may have run.
        """
        began, keys = monotonic(), script.keys(self.unit)
        try:
            reply = await self.caller.call(script, self.unit, keys, [mark, *args])
        except OutcomeUnknown as lost:
            return await self._again(lost, script, mark, args, age, began, repeat)
        return self._known(reply, script, mark, repeat)

    async def _again(
        self,
        lost: OutcomeUnknown,
        script: Script,
        mark: str,
        args: list[Argument],
        age: int,
        began: float,
        repeat: Any,
    ) -> Any:
        """Repeat a call with a lost reply; see `_repeated`. *began* is when it was sent."""
        args[age] = args[age] or self._lost_for(monotonic() - began)
        keys, again = script.keys(self.unit), [mark, *args]
        try:
            reply = await self.caller.call(script, self.unit, keys, again, harmless=True)
        except ServerUnavailable:  # The first attempt may have been applied.
            raise self._repeatable(lost, mark, repeat) from None
        return self._known(reply, script, mark, repeat)

    def _known(self, reply: Any, script: Script, mark: str, repeat: Any) -> Any:
        """Return *reply*. Raise `OutcomeUnknown` if the server cannot know what was applied."""
        if (reply[0] if isinstance(reply, list) else reply) == -1:
            reason = "too many later operations followed to know whether it was applied"
            unknown = OutcomeUnknown(f"{script.name} on {self.unit}", reason)
            raise self._repeatable(unknown, mark, repeat)
        return reply

    def _repeatable(self, error: OutcomeUnknown, mark: str, repeat: Any) -> OutcomeUnknown:
        error.repeatable(OURS + mark, partial(repeat, op_id=OURS + mark))
        return error

    def _lost_for(self, elapsed_s: float) -> int:
        """Return the age of an operation with a lost first attempt, in milliseconds.

        It includes the time that the repeated call may take.
        """
        return int((elapsed_s + 2 * self.caller.settings.timeout_s) * 1000) + 1

    def _age(self, op_id: str | None) -> Argument:
        if op_id is None:
            return ""
        return REPEATED_MS if op_id.startswith(OURS) else 0

    def _described(self, costs: Sequence[int]) -> list[Argument]:
        """Return the arguments that describe the limits with their *costs*."""
        found: list[Argument] = []
        for tag, limit, cost in zip(self.tags, self.limits, costs, strict=True):
            found += (tag, limit.amount, limit.per_ms, cost)
        return found

    def _changes(self, changes: Sequence[int]) -> list[Argument]:
        """Return, in one list, the tag, period (ms) and change of the cost of each limit."""
        found: list[Argument] = []
        for tag, limit, change in zip(self.tags, self.limits, changes, strict=True):
            found += (tag, limit.per_ms, change)
        return found
