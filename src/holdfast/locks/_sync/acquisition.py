# Generated from _async/acquisition.py by tools/unasync.py: edit that, then run `make sync`.
"""One acquisition."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final, Literal, overload

from ...core.clock import Deadline, since_boot
from ...core.concurrency._sync.cancellation import run_shielded
from ...core.concurrency._sync.primitives import AutoResetEvent
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
from ..waiters import Waiter
from .lease import Lease
from .permits import Places

LOOK_S: Final = 0.8
"""A waiter looks this often whether it missed its ring: within the second that a claim lives."""

_SHORTEST_LOOK_S: Final = 0.01

_IN_LINE_EVERY: Final = 4
"""Every so many looks it asks whether it still stands in line, instead of who has the places."""

_ASK_EVERY: Final = 40
"""Every so many looks (half a minute) it asks for its place whatever it sees: that tells the time
anew, keeps the line from expiring, and puts right what nobody thought of."""

_CLAIM_S: Final = 1.0
"""A claim lives no longer, whatever the clock of the server does."""

_CLAIM_MARGIN_S: Final = 0.05
_SHORT_CLAIM_S: Final = 2 * LONGEST_NAP_S
"""With less left of its claim than this, an heir confirms before it begins: the renewer might not
look at it in time, and needs a round trip."""

_ANCHOR_S: Final = 60.0
"""So long the server's clock can be told from ours: until then they cannot have parted by more
than the margin."""

_OPEN_S: Final = 1.0
"""Patience with the subscription of a room; without it a waiter looks by itself."""


@overload
def take(places: Places, timeout_s: float | None) -> Lease: ...


@overload
def take(places: Places, timeout_s: float | None, *, waits: Literal[False]) -> Lease | None: ...


def take(places: Places, timeout_s: float | None, *, waits: bool = True) -> Lease | None:
    """Ask for a place by the shortest way, and go on with a turn when that is not enough.

    An exception leaves neither a place nor a waiter behind, wherever it interrupts this.
    """
    member, turn, lease = places.waiters.name(), None, None
    try:
        began, asked_at = time.monotonic(), since_boot()
        places.waiters.arrive(places.unit, member, asked_at)
        reply, lost = None, False
        try:
            reply = places.try_acquire(member)
        except OutcomeUnknown:
            lost = True
        if isinstance(reply, bytes):
            lease = Lease(places, member, int(reply), asked_at, uncertain=False)
        else:
            turn = Turn(places, timeout_s, began, member, lost=lost)
            if reply is not None:
                turn.first_reply = reply, asked_at
            lease = turn.lease() if waits else turn.lease_at_once()
        places.waiters.depart(places.unit, member)
        return lease  # noqa: TRY300 (an exception may interrupt this line, too)
    except BaseException as error:
        try:
            if lease is not None:
                run_shielded(lease.give_up)
            elif turn is not None:
                turn.leave(error)
            elif not isinstance(error, ServerUnavailable):
                run_shielded(partial(give_up, places, member, over=True))
        finally:
            places.waiters.depart(places.unit, member)
        raise


def give_up(places: Places, member: str, waiter: str = "", *, over: bool) -> bool:
    """Leave neither a place nor a waiter behind; False when the server cannot be told."""
    try:
        places.give_back(member, waiter, over=over, durable=False)
    except HoldfastError:  # what is there ends by itself
        return False
    return True


class Turn:
    """The wish for a place: asks, waits in line, and leaves no trace when it is given up.

    The acquisition has its name before the first byte is sent, so whatever is lost can be asked
    again or given up, without ever being granted twice.

    Args:
        places: of what.
        timeout_s: how long to wait; None for ever.
        began: by the local monotonic clock, when the wait began.
        member: the acquisition.
        lost: whether the reply to a first call was lost.

    Attributes:
        first_reply: the reply to a first call, and when it was sent, by `since_boot`.
    """

    def __init__(
        self,
        places: Places,
        timeout_s: float | None,
        began: float,
        member: str,
        *,
        lost: bool,
    ) -> None:
        self.first_reply: tuple[Any, float] | None = None
        self._places = places
        self._began = began
        self._deadline = Deadline(timeout_s, began)
        self._member = member
        self._lost = lost
        self._holder = ""
        self._ticket = ""
        self._waiter = ""  # as it stands in line
        self._uncertain = lost  # a call may still be on its way
        self._asked_at = 0.0  # the anchor: the local time, and the server's not before it
        self._asked_ms = 0
        self._first_end_ms = 0
        self._looks = 0

    def leave(self, error: BaseException) -> None:
        """Leave neither a place nor a waiter behind after *error*."""
        # What is no error of ours has interrupted this anywhere, also after a place was granted.
        over = self._uncertain or not isinstance(error, HoldfastError)
        if over or self._waiter:
            run_shielded(partial(give_up, self._places, self._member, self._waiter, over=over))

    def lease(self) -> Lease:
        """The place.

        Raises:
            LockTimeout: none was free in time.
        """
        with during(self._places.caller.settings.telemetry, "wait", self._places.unit) as waiting:
            lease = self._outcome(waits=True)
            waiting.ended("timeout" if lease is None else "granted")
        if lease is None:
            waited_s = time.monotonic() - self._began
            raise LockTimeout(str(self._places.unit), waited_s, self._holder)
        return lease

    def lease_at_once(self) -> Lease | None:
        """The place, if one is free and nobody waits for it."""
        return self._outcome(waits=False)

    def _outcome(self, *, waits: bool) -> Lease | None:
        at_once = not waits or self._deadline.passed
        channel = self._places.waiters.channel(self._places.unit)
        if at_once or self._lost or self.first_reply is not None or not channel:
            lease = self._ask()
            if lease is not None or at_once:
                return lease
        return self._wait()

    def _ask(self) -> Lease | None:
        """Ask for a place, or for the same place again."""
        if self.first_reply is not None:
            (reply, asked_at), self.first_reply = self.first_reply, None
            return self._granted(reply, asked_at)
        uncertain, self._uncertain = self._uncertain, True  # a cancelled call may yet arrive
        again, self._lost = self._lost, False
        asked_at = since_boot()
        try:
            reply = self._places.ask(self._member, self._ticket, again=again)
            self._uncertain = uncertain
        except ServerUnavailable:
            self._uncertain = uncertain
            raise
        except OutcomeUnknown:
            asked_at = since_boot()
            reply = self._places.ask(self._member, self._ticket, again=True)
        return self._granted(reply, asked_at)

    def _granted(self, reply: Any, asked_at: float) -> Lease | None:
        """Return the lease that *reply* grants; None if it grants none."""
        match reply[0]:
            case fence if len(reply) == 1:
                return self._lease(int(fence), asked_at)
            case b"granted":
                return self._lease(int(reply[2]), asked_at)
            case b"queued":
                self._ticket = reply[2].decode()
                self._asked_at, self._asked_ms = asked_at, int(reply[3])
                self._first_end_ms = stored_score(reply[4], keys.holders(self._places.unit))
                self._holder = reply[5].decode(errors="backslashreplace")
            case b"busy":
                self._holder = reply[2].decode(errors="backslashreplace")
            case b"conflict":
                what = f"the limit of {self._places.unit}"
                raise DefinitionConflict(what, int(reply[2]), self._places.terms.limit)
            case b"undefined":
                raise NotDefined(f"the limit of {self._places.unit}")
            case _:
                action, reason = f"locks/acquire on {self._places.unit}", "the answer was too late"
                raise ServerUnavailable(action, reason)
        return None

    def _lease(self, fence: int, taken_at: float) -> Lease:
        return Lease(self._places, self._member, fence, taken_at, uncertain=self._uncertain)

    def _wait(self) -> Lease | None:
        """Stand in line until there is a place, or no time is left."""
        flag = AutoResetEvent()
        waiter = Waiter(flag)
        trouble: Deadline | None = None
        with self._places.waiters.waiting(self._places.unit, self._member, waiter) as room:
            if not room.heard:  # whom no ring can reach is taken for dead
                flag.wait(min(_OPEN_S, self._deadline.left_s()))
                waiter.stirred = False
            self._wait_for_earlier(flag)
            self._ticket, self._waiter = "0", f"{self._member} {room.channel}"
            lease = self._ask()
            while lease is None and not self._deadline.passed:
                flag.wait(self._next_look_s(waiter))
                try:
                    lease = self._inherited(waiter) or self._look(waiter)
                    trouble = None
                except ServerUnavailable:
                    waiter.stirred = True
                    trouble = trouble or Deadline(self._places.caller.settings.timeout_s)
                    if trouble.passed:
                        raise
        if lease is None:
            give_up(self._places, self._member, self._waiter, over=self._uncertain)
            self._waiter = ""
        return lease

    def _wait_for_earlier(self, flag: AutoResetEvent) -> None:
        """Wait until all acquisitions that began earlier in this process have asked to queue."""
        waiters, unit, member = self._places.waiters, self._places.unit, self._member
        while waiters.is_preceded(unit, member) and not self._deadline.passed:
            flag.wait(min(_OPEN_S, self._deadline.left_s()))
        waiters.depart(
            unit, member
        )  # the next one wakes in a later turn of the loop: after the ask

    def _inherited(self, waiter: Waiter) -> Lease | None:
        """The place that was handed over, if enough is left of the claim to begin at once."""
        if waiter.grant is None:
            return None
        fence, ends_ms = waiter.grant
        now = since_boot()
        if now - self._asked_at > _ANCHOR_S:
            return None
        # The server's clock was not yet at `asked_ms` when ours was at `asked_at`.
        ends_at = min(self._asked_at + (ends_ms - self._asked_ms) / 1000, now + _CLAIM_S)
        if ends_at - now < _SHORT_CLAIM_S:
            return None
        terms = self._places.terms
        left_s = (terms.lease_ms - terms.margin_ms) / 1000
        return self._lease(fence, ends_at - _CLAIM_MARGIN_S - left_s)

    def _look(self, waiter: Waiter) -> Lease | None:
        """See whether something was missed; the cheaper way first."""
        missed = waiter.grant is not None or waiter.stirred
        waiter.grant, waiter.stirred = None, False
        if missed or self._is_over(self._first_end_ms) or self._is_over(waiter.look_ms):
            waiter.look_ms = 0
            return self._ask()
        self._looks += 1
        if self._looks % _ASK_EVERY == 0:
            missed = True
        elif self._looks % _IN_LINE_EVERY == 0:
            missed = not self._still_in_line()
        else:
            missed = not self._still_taken()
        return self._ask() if missed else None

    def _still_taken(self) -> bool:
        """Whether others have the places, as far as the first of these tell."""
        held = self._read("ZRANGE", keys.holders(self._places.unit), 0, 3, "WITHSCORES")
        if not held or b"?" + self._member.encode() in held:
            return False
        self._first_end_ms = stored_score(held[1], keys.holders(self._places.unit))
        return True

    def _still_in_line(self) -> bool:
        """Whether nobody took it for dead."""
        ticket = self._read("ZSCORE", keys.line(self._places.unit), self._waiter)
        return ticket is not None

    def _read(self, *command: str | int) -> Any:
        return self._places.caller.read(self._places.unit, *command)

    def _next_look_s(self, waiter: Waiter) -> float:
        ends_ms = min(filter(None, (self._first_end_ms, waiter.look_ms)), default=0)
        until_s = (ends_ms - self._latest_ms()) / 1000 if ends_ms else LOOK_S
        return min(max(until_s, _SHORTEST_LOOK_S), LOOK_S, self._deadline.left_s())

    def _is_over(self, ends_ms: int) -> bool:
        return 0 < ends_ms <= self._latest_ms()

    def _latest_ms(self) -> float:
        """What the server's clock shows now at the latest."""
        return self._asked_ms + (since_boot() - self._asked_at) * 1000
