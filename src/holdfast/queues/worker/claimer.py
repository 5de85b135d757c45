"""The connection of one worker to one queue: claims tasks and settles them, step by step."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final

from ...core import ledger
from ...core._async.caller import AsyncCaller
from ...core.clock import Deadline
from ...core.concurrency._async.primitives import Event
from ...core.names import Unit
from ...core.notifier import Notifier
from ...core.renewer import Renewer
from ...core.script import Script
from ...errors import HoldfastError
from ...errors.one_line_logger import logger_of
from .. import keys
from .claim import Claim
from .damage import QueueDamage
from .direct_claims import DirectClaims
from .event_sender import EventSender
from .held_claims import HeldClaims
from .idle_listing import IdleListing
from .idle_pace import UNDIVIDED, IdlePace
from .outages import Outages
from .server_contact import ServerContact
from .step import STEP_LIMIT, Settlement, Step
from .step_sender import StepSender

logger: Final = logger_of("holdfast.worker")

NEXT_DUE: Final = Script.load("holdfast.queues", "next_due")

_BUSY_QUEUE_S: Final = 4.0
"""Seconds between two checks for vanished workers, while the queue has tasks."""

_FOUND_BY_LOOKS: Final = (keys.leases, keys.limited, keys.member_ends)
"""More keys that an idle worker checks, because a worker that vanishes sends no notification."""

_MAX_PARKED_S: Final = 65.0
"""Seconds within which a worker claims a parked task again; it pauses for at most a minute."""


class Claimer:
    """Makes the steps of one queue (calls of `step.lua`), and decides when the next one is useful.

    Args:
        caller: sends the steps to the server.
        renewer: renews the leases of the running tasks.
        unit: the queue, or one partition of it.
        name: name of the queue, or of the partition.
        worker: the worker's name, for people to read.
        lease_ms: life of a claim without renewal.
        outages: logs the calls that are not answered.
        on_lost: called in the worker's loop with each claim that was lost, and why.
        on_damaged: called in the worker's loop after each step that fails because of damage.

    Attributes:
        was_used: whether the queue has had tasks.
        settling: claims that are being settled in steps of their own; see `settle`.
        damage: what another program changed in the keys of the queue.
        events: sends the events of the queue's tasks.
        contact: records when the server answers.
        direct: the claims that producers make for this worker.
        name: name of the queue, or of the partition.
        pace: how often the claimer asks the server while the worker is idle.
        was_added: whether the partition was added while the worker ran.
    """

    def __init__(  # noqa: PLR0913 (what a worker gives to each queue)
        self,
        caller: AsyncCaller,
        renewer: Renewer,
        unit: Unit,
        name: str,
        *,
        worker: str,
        lease_ms: int,
        outages: Outages,
        on_lost: Callable[[Claim, str], None],
        on_damaged: Callable[[], None],
    ) -> None:
        self.unit: Unit = unit
        self.name: str = name
        self.pace: IdlePace = UNDIVIDED
        self.was_added: bool = False
        self.channel: str = ""
        self.woken: Event = Event()
        self.damage: QueueDamage = QueueDamage(unit, on_damaged)
        self.was_used: bool = False
        self.settling: set[Claim] = set()
        self._caller, self._worker, self._gathered = caller, worker, Event()
        self._held = HeldClaims(renewer, unit, lease_ms, on_lost)
        self._running = self._enough = 0
        # Tasks that this worker has parked, and until when no other worker can have claimed them.
        self._parked: dict[bytes, Deadline] = {}
        self._left = -1  # as in `StepReply.left`; -1: not known
        self._settlements: deque[Settlement] = deque()
        self._pending: Step | None = None
        self._more, self._next_step = True, Deadline(0)
        self._next_due_keys = NEXT_DUE.keys(unit)
        self._look_keys = (*self._next_due_keys, *(key(unit) for key in _FOUND_BY_LOOKS))
        self.contact: ServerContact = ServerContact(caller, unit, outages)
        self._sender = StepSender(caller, unit, worker, lease_ms, self.damage, self.contact)
        self.events: EventSender = EventSender(caller, unit, lambda: self._sender.answer_by)
        self.direct: DirectClaims = DirectClaims(
            caller, self._held, self.events, lease_ms, self.release
        )
        self._listing, self._has_retired = IdleListing(), False

    @property
    def has_member_ends(self) -> Event:
        """Return the event that is set when the queue has ends of group members to relay."""
        return self._sender.has_member_ends

    @property
    def unsettled(self) -> int:
        """Return the number of settlements that the server does not have yet."""
        return len(self._settlements)

    @property
    def running(self) -> int:
        """Return the number of tasks of the queue that run here."""
        return self._running

    @property
    def is_busy(self) -> bool:
        """Return whether a task of the queue runs here, or ran and is not settled."""
        return bool(self._running or self._settlements)

    @property
    def _holds_nothing(self) -> bool:
        return not (self._settlements or any(True for _ in self._held))

    @property
    def found_empty(self) -> bool:
        """Return whether the last step found no task for this worker or for another one.

        Parked tasks do not count, because no worker with this registry can run them.
        """
        for key in [key for key, until in self._parked.items() if until.passed]:
            del self._parked[key]  # another worker may have run it
        return 0 <= self._left <= len(self._parked)

    @property
    def may_have_more(self) -> bool:
        """Return whether the last step may have left tasks in the queue."""
        return self._more

    @property
    def may_batch(self) -> bool:
        """Return whether more settlements may soon join those that wait for the next step."""
        return bool(self._running) and 0 < len(self._settlements) < STEP_LIMIT

    @contextmanager
    def listening(
        self, notifier: Notifier, guarded: Callable[[Callable[..., object]], Callable[..., None]]
    ) -> Iterator[None]:
        """Let notifications of the queue wake this claimer, while the context lasts.

        Args:
            notifier: receives the notifications.
            guarded: wraps a function as a callback; an exception of the function ends the worker.
        """
        # `lua/parts/direct_claim.lua` finds the name of the worker at the end of the channel.
        receive, name = guarded(self._receive), self._worker
        with notifier.listen(self.unit, self.woken, receive, name) as self.channel:
            yield

    def wake(self) -> None:
        """Make the claimer check its queue now. Call this only in its own loop."""
        self.woken.set()

    def answer_within(self, seconds: float) -> None:
        """Limit how long the claimer waits for replies. From any thread or signal handler."""
        self._sender.answer_by = Deadline(seconds)
        self.woken.set_from_handler()

    def was_woken(self) -> bool:
        """Return whether the claimer was woken since the last call of this method."""
        woken = self.woken.is_set()
        self.woken.clear()
        return woken

    def is_lost(self, claim: Claim) -> bool:
        """Return whether this worker knows that it does not hold *claim* any more."""
        return self._held.is_lost(claim)

    def started(self, count: int) -> None:
        """Count claims that run here from now on."""
        self._running += count

    def finished(self, settlement: Settlement | None) -> None:
        """Note that a claim does not run any more; None: the server has its settlement already."""
        self._running -= 1
        if settlement is not None:
            self._settlements.append(settlement)
        if not self._running or len(self._settlements) == self._enough:
            self._gathered.set()
        self.woken.set()

    def release(self, claims: Sequence[Claim], why: str = "") -> None:
        """Put *claims*, which do not run, back where they were. Log *why*, if given."""
        for claim in claims if why else ():
            logger.warning("task %s of %s is given back: %s", claim.task_id, self.unit, why)
        self._settlements.extend(Settlement(claim, "release") for claim in claims)

    async def step(self, want: int, *, poison_limit: int = 0) -> list[Claim]:
        """Settle what is finished and claim up to *want* tasks, at most `STEP_LIMIT`.

        The step is repeated under the same number until it is answered, so a lost reply costs
        nothing.

        Args:
            want: tasks to claim at most.
            poison_limit: poison tasks among them at most.

        Raises:
            ServerUnavailable, OutcomeUnknown: the worker ends, and its time for replies is over.
        """
        self._left = -1
        if self._pending is None:
            settlements = await self._with_events(*islice(self._settlements, STEP_LIMIT))
            number, most = self._sender.next_number(), min(want, STEP_LIMIT)
            self._pending = Step(*number, self.channel, most, poison_limit, self.pace, settlements)
        # If the caller of a step was cancelled, complete that step first: it may have made claims.
        step = self._pending
        reply = await self._sender.answered(step)
        self._left = reply.left
        self.was_used = self.was_used or reply.left > 0 or bool(reply.claims)
        self.damage.step_succeeded(reply.missing)
        if reply.ended:
            await self._renew_or_release(reply.ended)
        if reply.any_events:  # the server may still have events of earlier attempts of these tasks
            self.events.expect(reply.claims)
        for claim in reply.claims:
            self._held.keep(claim, reply.asked_at)
            self._parked.pop(claim.key, None)
        self._pending = None
        self.direct.synchronize(reply.asked_at, reply.server_ms)
        self._listing.answered(step, reply)
        for _ in step.settlements:
            self._settlements.popleft()
        for settlement, digit in zip(step.settlements, reply.accepted, strict=True):
            self._settled(settlement, accepted=digit == "1")
        # A step with `want` 0 looks for no tasks, and takes this worker from the idle list.
        self._more = len(reply.claims) == step.want or reply.wait_ms == 0
        longest_s = step.pace.step_s if self._left == 0 else _BUSY_QUEUE_S
        wait_s = reply.wait_ms / 1000
        self._next_step = Deadline(longest_s if wait_s < 0 else min(longest_s, wait_s))
        return reply.claims

    async def settle(self, settlement: Settlement) -> None:
        """Settle one task at once, in a step of its own.

        Raises:
            ServerUnavailable, OutcomeUnknown: the worker ends, and its time for replies is over.
        """
        if settlement.claim not in self._held:  # the claim was released; the worker may have ended
            self._settled(settlement, accepted=False)
            return
        self.settling.add(settlement.claim)
        settlements = await self._with_events(settlement)
        with self._caller.writers.operation(None, ledger.never) as write:
            step = Step(write.writer, write.number, settlements=settlements)
            reply = await self._sender.answered(step)
        self.settling.discard(settlement.claim)
        self._settled(settlement, accepted=reply.accepted == "1")

    async def retire(self) -> None:
        """Leave the list of idle workers. Give back what producers have claimed for this one."""
        with contextlib.suppress(HoldfastError):  # if this fails, `leave` tries it again
            if self._sender.is_used:
                await self._leave_idle_list()
            await self._settle_all()
            self.direct.close()
            self._has_retired = True

    async def leave(self) -> None:
        """Settle what is left, release claims that do not run, and leave the list of idle ones."""
        try:
            # Otherwise the server has no claim of this worker, and does not list it as idle.
            if self._sender.is_used and not (self._has_retired and self._holds_nothing):
                await self._leave_idle_list()
                ended = {settlement.claim for settlement in self._settlements}
                self.release([claim for claim in self._held if claim not in ended])
            await self._settle_all()
        finally:
            self.direct.close()
            await self.events.close()

    async def _leave_idle_list(self) -> None:
        """Leave the list of idle workers, and receive what producers have just claimed."""
        self.release(await self.step(0))
        if self._listing.is_listed:  # by an earlier step that was completed now
            await self.step(0)
        if self._listing.claim_may_come:
            await self.direct.receive_last()
        self.direct.start_waiting()

    async def _settle_all(self) -> None:
        while self._settlements:
            await self.step(0)
            self.direct.start_waiting()

    async def may_find_tasks(self) -> bool:
        """Return whether a step may find tasks. Ask the server if this worker cannot know it."""
        if self._next_step.passed:
            return True
        try:
            if self._left == 0:
                found = await self._caller.read(self.unit, "EXISTS", *self._look_keys)
                self.contact.answered()
                return bool(found)
            # A notification may have been lost, or have reached a worker without a free slot.
            wait_ms = await self._caller.call(NEXT_DUE, self.unit, self._next_due_keys, [])
            self.contact.answered()
        except HoldfastError:
            return True  # the step meets the same error, and logs it
        if 0 <= wait_ms / 1000 < self._next_step.left_s():
            self._next_step = Deadline(wait_ms / 1000)
        return self._next_step.passed

    async def wait(self, *, until_step: bool) -> None:
        """Sleep until woken, until the next check, or, with *until_step*, until a step is due."""
        if self._settlements:  # the last step had no room for them, and they cause no wake-up
            return
        due_s = self._next_step.left_s() if until_step else self.pace.look_s
        await self.woken.wait(min(self.pace.look_s, due_s))

    async def gather(self, enough: int, seconds: float) -> None:
        """Wait at most *seconds* until the next step has *enough* settlements, or no task runs."""
        self._enough = enough
        if len(self._settlements) < enough:
            self._gathered.clear()
            await self._gathered.wait(seconds)

    def _receive(self, message: bytes) -> None:
        if self.direct.receive(message, in_step=self._pending is not None):
            self.was_used = True
        else:
            self._held.receive(message)

    async def _with_events(self, *settlements: Settlement) -> tuple[Settlement, ...]:
        """Return *settlements* once the server has the events of their tasks.

        Raises:
            ServerUnavailable, OutcomeUnknown: the worker ends, and its time for replies is over.
        """
        if self.events.may_be_stored:
            await self.events.stored(each.claim for each in settlements)
            for each in settlements:
                each.has_events = self.events.has_events(each.claim)
        return settlements

    async def _renew_or_release(self, ended: Sequence[bytes]) -> None:
        """Renew the claims with an ended lease that this worker holds, and release the others.

        After an outage the worker still holds the claims, or has settlements for them. It does not
        know a claim if the server went back to an older state, or if the ledger forgot a step.

        Args:
            ended: id and token of each claim, one after the other.
        """
        known = {claim.identity: claim for claim in self._held}
        known |= {each.claim.identity: each.claim for each in self._settlements}
        claims = [
            known.get((key, int(token))) or Claim(key, int(token), 0, 0, 0, b"")
            for key, token in zip(ended[::2], ended[1::2], strict=True)
        ]
        unknown = [claim for claim in claims if claim.identity not in known]
        self.release(unknown, "the server reports it as running here, but this worker ended it")
        if held := [claim for claim in claims if claim in self._held]:
            await self._held.renew(self._caller, held)

    def _settled(self, settlement: Settlement, *, accepted: bool) -> None:
        """Forget the claim of a settlement that the server has answered."""
        claim = settlement.claim
        self._held.drop(claim)
        self.events.forget(claim)
        # A refusal is expected if a step of its own may have settled the claim, or if it was lost.
        expected = claim in self.settling or settlement.verb == "release"
        self.settling.discard(claim)
        if accepted and settlement.verb == "park" and settlement.ms:
            self._parked[claim.key] = Deadline(min(_MAX_PARKED_S, settlement.ms / 1000))
        if not accepted:
            logger.log(
                logging.DEBUG if expected else logging.WARNING,
                "task %s of %s ended as %r after it was taken away; that does not count",
                claim.task_id,
                self.unit,
                settlement.verb,
            )
