"""Claims and settles the tasks of one queue, step by step, for one worker."""

from __future__ import annotations

import contextlib
import logging
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, Final

from ...core import ledger
from ...core._async.caller import AsyncCaller
from ...core.clock import Deadline, backoff_s, since_boot
from ...core.concurrency._async.primitives import Event, sleep
from ...core.concurrency.loop_thread import OwnLoop
from ...core.names import Unit
from ...core.notifier import RECHECK_S, Notifier
from ...core.renewer import Lease, Renewer
from ...core.script import Script
from ...errors import DamagedData, DecodeError, HoldfastError, OutcomeUnknown, ServerUnavailable
from ...errors.records import logger_of
from .. import keys
from .claim import MAX_CRASHES, Claim, Verdict
from .damage import QueueDamage
from .step import Step

logger = logger_of("holdfast.worker")

STEP: Final = Script.load("holdfast.queues", "step")
LOOK: Final = Script.load("holdfast.queues", "look")
RENEW: Final = Script.load("holdfast.queues", "renew")

STEP_LIMIT: Final = 64
"""Verdicts and claims in one step at most. A kill repeats no more finished tasks than this."""

_BUSY_QUEUE_S: Final = 4.0
"""While others hold or await tasks, look for dead workers this often."""

_EMPTY_QUEUE_S: Final = 20.0
"""With nothing to be found, renew the place among the waiting workers this often."""

_LONGEST_PAUSE_S: Final = 1.0

_LONGEST_PARKED_S: Final = 65.0
"""A parked task is looked at by someone after a minute at the latest."""


class Claimer:
    """A worker's end of one queue: makes its steps, and knows when the next one is worth making.

    Args:
        caller: how to reach the server.
        renewer: keeps the leases of what runs.
        unit: the queue.
        worker: the worker's name, for people to read.
        lease_ms: life of a claim without renewal.
        on_taken_away: called in the worker's loop with each claim that was lost, and why.
        on_damaged: called in the worker's loop after each step that fails because of damage.

    Attributes:
        telling: claims that have ended, which the server is being told beside all steps.
        damage: what another program changed in the keys of the queue.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        renewer: Renewer,
        unit: Unit,
        *,
        worker: str,
        lease_ms: int,
        on_taken_away: Callable[[Claim, str], None],
        on_damaged: Callable[[], None],
    ) -> None:
        self.unit = unit
        self.channel = ""
        self.woken = Event()
        self._loop = OwnLoop()
        self._on_taken_away = on_taken_away
        self.damage = QueueDamage(unit, on_damaged)
        self._taken_away: set[Claim] = set()
        self.telling: set[Claim] = set()
        self.patience = Deadline(None)  # until when an answer is waited for
        self._running = 0
        self._parked: dict[bytes, Deadline] = {}  # not known here; until they are looked at again
        self._left = -1  # tasks of the queue that are not dead; -1: not known
        self._more = True
        self._caller = caller
        self._renewer = renewer
        self._worker = worker
        self._lease_ms = lease_ms
        self._verdicts: deque[Verdict] = deque()
        self._leases: dict[Claim, Lease] = {}
        self._writer, self._number = ledger.new_writer(), 0
        self._pending: Step | None = None
        self._next_step = Deadline(0)
        self._renew_keys = RENEW.keys(unit)
        self._look_keys = LOOK.keys(unit)
        self._agenda_keys = (*self._look_keys, keys.leases(unit))
        self._step_keys = STEP.keys(unit)
        self._result_prefix = keys.result(unit, "").encode()

    @property
    def name(self) -> str:
        """The queue's."""
        return self.unit.name

    @property
    def unsettled(self) -> int:
        """Verdicts that the server has not been told yet."""
        return len(self._verdicts)

    @property
    def is_busy(self) -> bool:
        """Whether something of the queue runs here, or ran and is not settled."""
        return bool(self._running or self._verdicts)

    @property
    def found_empty(self) -> bool:
        """Whether the last step found nothing that is to be done, here or by others, or later.

        What is parked is to be done, but not by a worker of this registry.
        """
        for key in [key for key, until in self._parked.items() if until.passed]:
            del self._parked[key]  # another worker has it
        return 0 <= self._left <= len(self._parked)

    @property
    def may_have_more(self) -> bool:
        """Whether the last step left tasks there, as far as it can tell."""
        return self._more

    @property
    def gathers(self) -> bool:
        """Whether the verdicts may soon have company, and travel together."""
        return bool(self._running) and 0 < len(self._verdicts) < STEP_LIMIT

    @contextmanager
    def listening(self, notifier: Notifier) -> Iterator[None]:
        """While the context lasts, rings about the queue wake this claimer."""
        with notifier.listen(self.unit, self.woken, self._hear) as self.channel:
            yield

    def wake(self) -> None:
        """Have it look now. From its own loop."""
        self.woken.set()

    def answer_within(self, seconds: float) -> None:
        """Wait for an answer so long at most, from now on. From any thread or signal handler."""
        self.patience = Deadline(seconds)
        self.woken.set_from_handler()

    def was_woken(self) -> bool:
        """Whether it was woken since it was last asked."""
        woken = self.woken.is_set()
        self.woken.clear()
        return woken

    def was_taken_away(self, claim: Claim) -> bool:
        """Whether *claim* is not this worker's any more, as far as this worker knows."""
        return claim in self._taken_away

    def started(self) -> None:
        """A claim runs here."""
        self._running += 1

    def finished(self, verdict: Verdict | None) -> None:
        """It does not run any more; tell the server with the next step, if there is a *verdict*."""
        self._running -= 1
        if verdict is not None:
            self._verdicts.append(verdict)
        self.woken.set()

    def give_back(self, claims: Sequence[Claim], why: str = "") -> None:
        """Put *claims*, which nobody runs, back where they were; the log tells *why*, if given."""
        for claim in claims if why else ():
            logger.warning("task %s of %s is given back: %s", claim.task_id, self.unit, why)
        self._verdicts.extend(Verdict(claim, "release") for claim in claims)

    async def step(self, want: int, *, suspects: int = 0) -> list[Claim]:
        """Settle what is finished and claim *want* tasks more, at most `STEP_LIMIT`.

        Of these, *suspects* at most are such that may be the next to kill their worker.

        A step is made until it is answered, always under the same number, so a lost reply costs
        nothing. It raises nothing of the server's.
        """
        self._left = -1
        if self._pending is None:
            self._number += 1
            settled = tuple(islice(self._verdicts, STEP_LIMIT))
            self._pending = Step(
                self._writer, self._number, self.channel, min(want, STEP_LIMIT), suspects, settled
            )
        # A step whose caller was cancelled is completed first: its claims must reach someone.
        want, verdicts = self._pending.want, self._pending.verdicts
        asked_at, reply = await self._answered(self._pending)
        wait_ms, self._left, accepted, astray, *claimed = reply
        self.damage.step_succeeded(astray)
        if claimed and isinstance(claimed[-1], list):
            await self._answer_for(claimed.pop())
        claims = [Claim.of(*claimed[i : i + 5]) for i in range(0, len(claimed), 5)]
        for claim in claims:
            self._keep(claim, asked_at)
            self._parked.pop(claim.key, None)
        self._pending = None
        for _ in verdicts:
            self._verdicts.popleft()
        for verdict, digit in zip(verdicts, accepted.decode(), strict=True):
            self._let_go(verdict, accepted=digit == "1")
        # A step that wants nothing does not look, and ends the waiting of this worker.
        self._more = len(claims) == want or wait_ms == 0
        longest_s = _EMPTY_QUEUE_S if self._left == 0 else _BUSY_QUEUE_S
        self._next_step = Deadline(longest_s if wait_ms < 0 else min(longest_s, wait_ms / 1000))
        return claims

    async def settle(self, verdict: Verdict) -> None:
        """Tell the server of one verdict at once, beside all other steps.

        Raises:
            ServerUnavailable, OutcomeUnknown: the worker is to end, and its patience is spent.
        """
        if verdict.claim not in self._leases:  # given back meanwhile; the worker may have ended
            self._let_go(verdict, accepted=False)
            return
        self.telling.add(verdict.claim)
        with self._caller.writers.operation(None, ledger.never) as write:
            _, reply = await self._answered(Step(write.writer, write.number, verdicts=[verdict]))
        self.telling.discard(verdict.claim)
        self._let_go(verdict, accepted=reply[2] == b"1")

    async def leave(self) -> None:
        """Settle what is left, give back what nobody runs, and stop being a waiting worker."""
        if self._number == 0:
            return  # the server does not know of this one
        self.give_back(await self.step(0))  # of a step whose answer was not waited for
        judged = {verdict.claim for verdict in self._verdicts}
        self.give_back([claim for claim in self._leases if claim not in judged])
        while self._verdicts:
            await self.step(0)

    async def may_find_something(self) -> bool:
        """Whether a step may find tasks; asks the server when nothing else tells."""
        if self._next_step.passed:
            return True
        unit = self.unit
        try:
            if self._left == 0:
                # Also what others run: should they vanish, this worker has to notice.
                found = await self._caller.read(unit, "EXISTS", *self._agenda_keys)
                return bool(found)
            # A ring may have been lost, or have reached a worker that cannot take more.
            wait_ms = await self._caller.call(LOOK, unit, self._look_keys, [])
        except HoldfastError:
            return True  # then the step finds out, and says so
        if 0 <= wait_ms / 1000 < self._next_step.left_s():
            self._next_step = Deadline(wait_ms / 1000)
        return self._next_step.passed

    async def wait(self, *, look: bool) -> None:
        """Sleep until woken, or for `RECHECK_S`; with *look* only until a step is due anyway."""
        due_s = self._next_step.left_s() if look else RECHECK_S
        await self.woken.wait(min(RECHECK_S, due_s))

    async def _answered(self, step: Step) -> tuple[float, list[Any]]:
        """The answer to *step*, and when it was asked for.

        Raises:
            ServerUnavailable, OutcomeUnknown: the worker is to end, and its patience is spent.
        """
        args: list[str | bytes | int] = [step.writer, step.number, step.channel, self._worker]
        args += [step.want, step.suspects, self._lease_ms, MAX_CRASHES]
        results: list[str | bytes] = []
        for verdict in step.verdicts:
            claim = verdict.claim
            args += [claim.key, claim.token, verdict.verb, verdict.ms, verdict.text]
            if verdict.verb == "done":
                results.append(self._result_prefix + claim.key)
        failures, unsure = 0, False
        while True:
            asked_at = since_boot()
            try:
                reply = await self._caller.call(
                    STEP,
                    self.unit,
                    [*self._step_keys, *results],
                    args,
                    durable=bool(step.verdicts),  # a claim is only a lease
                )
            except (ServerUnavailable, OutcomeUnknown, DecodeError) as error:
                failures += 1
                unsure = unsure or isinstance(error, OutcomeUnknown)
                # At its end a worker that has nothing to tell, and was given nothing, just goes.
                pointless = math.isfinite(self.patience.at) and not (unsure or step.verdicts)
                if pointless or self.patience.passed:
                    raise
                level = logging.WARNING if failures == 1 else logging.DEBUG
                reason = getattr(error, "reason", error)
                logger.log(level, "%s: %s; asking until it answers", self.unit, reason)
                self.damage.step_failed(error, failures)
                if isinstance(error, DamagedData) and args[0] == self._writer:  # or of its entry
                    args[:2] = self._writer, self._number = ledger.new_writer(), 1
                await sleep(backoff_s(failures, 0.05, _LONGEST_PAUSE_S))
            else:
                if failures:
                    logger.warning("%s answers again, after %d failures", self.unit, failures)
                return asked_at, reply

    async def _answer_for(self, questioned: Sequence[bytes]) -> None:
        """Renew the claims among *questioned* that this worker holds, and release the others.

        They are claims of this worker whose lease is over: id and token, one after the other. After
        an outage the worker holds them, or has verdicts about them. It does not know them if the
        server restarted from an older state, or its ledger forgot a step and made it twice.
        """
        known = {claim.identity: claim for claim in self._leases}
        known |= {verdict.claim.identity: verdict.claim for verdict in self._verdicts}
        claims = [
            known.get((key, int(token))) or Claim(key, int(token), 0, 0, b"")
            for key, token in zip(questioned[::2], questioned[1::2], strict=True)
        ]
        unknown = [claim for claim in claims if claim.identity not in known]
        self.give_back(unknown, "the server reports it as running here, but this worker ended it")
        if held := [claim for claim in claims if claim in self._leases]:
            await self._renew(held)

    async def _renew(self, held: Sequence[Claim]) -> None:
        """Renew *held* now: their leases are over on the server."""
        pairs = [part for claim in held for part in (claim.key, claim.token)]
        with contextlib.suppress(HoldfastError):  # then the next step asks again
            await self._caller.call(
                RENEW, self.unit, self._renew_keys, [self._lease_ms, *pairs], durable=False
            )

    def _keep(self, claim: Claim, asked_at: float) -> None:
        """Have the lease of *claim* renewed."""
        self._leases[claim] = lease = Lease(
            self.unit,
            RENEW,
            self._renew_keys,
            claim.key,
            claim.token,
            self._lease_ms,
            asked_at,
            partial(self._lose, claim, "lost its lease, or was cancelled"),
        )
        self._renewer.keep(lease)

    def _lose(self, claim: Claim, why: str) -> None:
        """Have *claim* stopped. From any thread."""
        self._loop.call_soon(self._take_away, claim, why)

    def _take_away(self, claim: Claim, why: str) -> None:
        if claim in self._leases:  # else its end is settled: the loss was told too late
            self._taken_away.add(claim)
            self._on_taken_away(claim, why)

    def _hear(self, word: bytes) -> None:
        """A task was cancelled: `token id`, as `cancel.lua` says it."""
        token, _, key = word.partition(b" ")
        for claim in list(self._leases):
            if (claim.key, b"%d" % claim.token) == (key, token):
                self._lose(claim, "was cancelled")

    def _let_go(self, verdict: Verdict, *, accepted: bool) -> None:
        claim = verdict.claim
        lease = self._leases.pop(claim, None)
        if lease is not None:
            self._renewer.drop(lease)
        self._taken_away.discard(claim)
        # Either the server refuses what it was told by then, or what was stopped for that reason.
        expected = claim in self.telling or verdict.verb == "release"
        self.telling.discard(claim)
        if accepted and verdict.verb == "park" and verdict.ms:
            self._parked[claim.key] = Deadline(min(_LONGEST_PARKED_S, verdict.ms / 1000))
        if not accepted:
            logger.log(
                logging.DEBUG if expected else logging.WARNING,
                "task %s of %s ended as %r after it was taken away; that does not count",
                claim.task_id,
                self.unit,
                verdict.verb,
            )
