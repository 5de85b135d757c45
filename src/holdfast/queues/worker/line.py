"""A worker's end of one queue: makes its steps, and knows when the next one is worth making."""

from __future__ import annotations

import logging
import time
from collections import deque
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from ...core import ledger
from ...core.bell import RECHECK_S
from ...core.call._async import AsyncCaller
from ...core.clock import Deadline, backoff_s
from ...core.names import Unit
from ...core.renewer import Lease, Renewer
from ...core.runtime._async import Event, sleep
from ...core.script import Script
from ...errors import HoldfastError, OutcomeUnknown, ServerUnavailable
from .. import keys
from .runner import Claim, Verdict

logger = logging.getLogger("holdfast.worker")

STEP: Final = Script.load("holdfast.queues", "step")
RENEW: Final = Script.load("holdfast.queues", "renew")

MAX_CRASHES: Final = 3
"""Claims whose worker vanished; then the task itself is suspected, and buried."""

STEP_LIMIT: Final = 64
"""Verdicts and claims in one step at most. A kill repeats no more finished tasks than this."""

_BUSY_QUEUE_S: Final = 4.0
"""While others hold or await tasks, look for dead workers and nearer due times this often."""

_EMPTY_QUEUE_S: Final = 20.0
"""With nothing to be found, renew the place among the waiting workers this often."""

_LONGEST_PAUSE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Step:
    """A step that was asked for, and not answered yet."""

    number: int
    want: int
    verdicts: list[Verdict]


class Line:
    """One queue, as one worker serves it.

    Args:
        caller: how to reach the server.
        renewer: keeps the leases of what runs.
        unit: the queue.
        worker: the worker's name, for people to read.
        lease_ms: life of a claim without renewal.
    """

    def __init__(
        self,
        caller: AsyncCaller,
        renewer: Renewer,
        unit: Unit,
        *,
        worker: str,
        lease_ms: int,
    ) -> None:
        self.unit = unit
        self.channel = ""
        self.woken = Event()
        self.lost: deque[Claim] = deque()
        self.left = -1  # tasks of the queue that are not dead; -1: not known
        self.seen = -1  # how many tasks had finished here when *left* was asked for
        self.running = 0
        self.patience = Deadline(None)  # until when an answer is waited for
        self.full = False  # the last step gave all that was wanted: there may be more
        self._caller = caller
        self._renewer = renewer
        self._worker = worker
        self._lease_ms = lease_ms
        self._verdicts: deque[Verdict] = deque()
        self._leases: dict[Claim, Lease] = {}
        self._writer, self._number = ledger.new_writer(), 0
        self._pending: _Step | None = None
        self._next_step = Deadline(0)
        unit_keys = (keys.bodies(unit), keys.state(unit), keys.leases(unit))
        self._renew_keys = unit_keys
        self._agenda_keys = (*keys.ready(unit), *keys.due(unit), keys.leases(unit))
        self._step_keys = (
            *unit_keys,
            *keys.ready(unit),
            *keys.due(unit),
            keys.idle(unit),
            keys.dead(unit),
            keys.expiring(unit),
            keys.left_over(unit),
            keys.awaited(unit),
            keys.settings(unit),
            *ledger.keys(unit),
        )
        self._result_prefix = keys.result(unit, "").encode()

    @property
    def unsettled(self) -> int:
        """Verdicts that the server has not been told yet."""
        return len(self._verdicts)

    def settle(self, verdict: Verdict) -> None:
        """Tell the server with the next step."""
        self._verdicts.append(verdict)
        self.woken.set()

    async def step(self, want: int) -> list[Claim]:
        """Settle what is finished and claim *want* tasks more, at most `STEP_LIMIT`.

        A step is made until it is answered, always under the same number, so a lost reply costs
        nothing. It raises nothing of the server's.
        """
        self.left = -1
        if self._pending is None:
            self._number += 1
            verdicts = list(islice(self._verdicts, STEP_LIMIT))
            self._pending = _Step(self._number, min(want, STEP_LIMIT), verdicts)
        # A step whose caller was cancelled is completed first: its claims must reach someone.
        want, verdicts = self._pending.want, self._pending.verdicts
        asked_at, reply = await self._answered(self._pending)
        self._pending = None
        wait_ms, self.left, accepted, *claimed = reply
        for verdict, digit in zip(verdicts, accepted.decode(), strict=True):
            self._verdicts.popleft()
            self._let_go(verdict, accepted=digit == "1")
        claims = [_claim(*claimed[i : i + 5]) for i in range(0, len(claimed), 5)]
        for claim in claims:
            self._keep(claim, asked_at)
        self.full = want > 0 and (len(claims) == want or wait_ms == 0)
        longest_s = _EMPTY_QUEUE_S if self.left == 0 else _BUSY_QUEUE_S
        self._next_step = Deadline(longest_s if wait_ms < 0 else min(longest_s, wait_ms / 1000))
        return claims

    async def worth_a_step(self) -> bool:
        """Whether something may be there to claim; asks the server when nothing else tells."""
        if self.full or self._next_step.passed:
            return True
        unit = self.unit
        try:
            if self.left == 0:
                # Also what others run: should they vanish, this worker has to notice.
                found = await self._caller.read(unit, "EXISTS", *self._agenda_keys)
                return bool(found)
            found = await self._caller.read(unit, "EXISTS", *keys.ready(unit))
            return bool(found)  # a ring was lost, or reached a worker that cannot take more
        except HoldfastError:
            return True  # then the step finds out, and says so

    async def wait(self, *, may_claim: bool) -> None:
        """Sleep until rung, until a verdict or a loss, or until it is time to look again.

        Without a place for another task it is never time to look.
        """
        look_s = self._next_step.left_s() if may_claim else RECHECK_S
        await self.woken.wait(min(RECHECK_S, look_s))

    async def _answered(self, step: _Step) -> tuple[float, list[Any]]:
        """The answer to *step*, and when it was asked for.

        Raises:
            ServerUnavailable, OutcomeUnknown: the worker is to end, and its patience is spent.
        """
        args: list[str | bytes | int] = [self._writer, step.number, self.channel, self._worker]
        args += [step.want, step.want, self._lease_ms, MAX_CRASHES]
        results: list[str | bytes] = []
        for verdict in step.verdicts:
            claim = verdict.claim
            args += [claim.key, claim.token, verdict.verb, verdict.ms, verdict.text]
            if verdict.verb == "done" and verdict.ms:
                results.append(self._result_prefix + claim.key)
        failures = 0
        while True:
            asked_at = time.monotonic()
            try:
                reply = await self._caller.call(STEP, self.unit, [*self._step_keys, *results], args)
            except (ServerUnavailable, OutcomeUnknown) as error:
                failures += 1
                if self.patience.passed:
                    raise
                level = logging.WARNING if failures == 1 else logging.DEBUG
                logger.log(level, "%s: %s; asking until it answers", self.unit, error.reason)
                await sleep(backoff_s(failures, 0.05, _LONGEST_PAUSE_S))
            else:
                if failures:
                    logger.warning("%s answers again, after %d failures", self.unit, failures)
                return asked_at, reply

    def _keep(self, claim: Claim, asked_at: float) -> None:
        """Have the lease of *claim* renewed."""

        def lose() -> None:
            self.lost.append(claim)
            self.woken.set()

        self._leases[claim] = lease = Lease(
            self.unit,
            RENEW,
            self._renew_keys,
            claim.key,
            claim.token,
            self._lease_ms,
            asked_at,
            lose,
        )
        self._renewer.keep(lease)

    def _let_go(self, verdict: Verdict, *, accepted: bool) -> None:
        self._renewer.drop(self._leases.pop(verdict.claim))
        if not accepted:
            logger.warning(
                "task %s of %s ended as %r after its lease was lost; that does not count",
                verdict.claim.task_id,
                self.unit,
                verdict.verb,
            )


def _claim(key: bytes, token: bytes, attempt: int, crashes: int, body: bytes) -> Claim:
    return Claim(key, int(token), attempt, crashes, body)
