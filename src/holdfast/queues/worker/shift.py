"""One run of a worker, from its start until nothing of it is left."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from ...core.bell import Bell
from ...core.call._async import AsyncCaller
from ...core.clock import Deadline
from ...core.connections.settings import Settings
from ...core.names import Unit
from ...core.renewer import Renewer
from ...core.runtime._async import (
    Event,
    Running,
    Threads,
    cancelled,
    sleep,
    spawn,
    time_limit,
    together,
)
from ...errors import HoldfastError
from ..registry import TaskRegistry
from .line import STEP_LIMIT, Line
from .runner import Claim, Runner, Verdict

logger = logging.getLogger("holdfast.worker")

_GATHER_S: Final = 0.002
"""Verdicts wait this long for company while other tasks run."""

_FAREWELL_S: Final = 5.0
"""How long a worker that is cancelled tries to give its tasks back."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker does.

    Attributes:
        worker: its name, for people to read.
        registry: what may run.
        weights: queue → its share of the places while all queues have tasks.
        concurrency: tasks that run at once.
        lease_ms: life of a claim without renewal.
        grace_s: what running tasks are given to finish when the worker is stopped.
    """

    worker: str
    registry: TaskRegistry
    weights: Mapping[Unit, int]
    concurrency: int
    lease_ms: int
    grace_s: float


class Shift:
    """Serves every queue of a plan in a loop of its own; the places are shared.

    Args:
        settings: where the server is.
        plan: what to do.
        until_idle: stop by itself once the queues hold nothing to be done.
    """

    def __init__(self, settings: Settings, plan: Plan, *, until_idle: bool) -> None:
        self._plan = plan
        self._until_idle = until_idle
        self._caller = AsyncCaller(settings)
        self._bell = Bell(settings)
        self._renewer = Renewer(settings)
        self._threads = Threads(plan.concurrency, "holdfast task")
        self._lines = [
            Line(self._caller, self._renewer, unit, worker=plan.worker, lease_ms=plan.lease_ms)
            for unit in plan.weights
        ]
        self._free = plan.concurrency
        self._running: dict[Claim, Running[Verdict]] = {}
        self._finished = 0
        self._stopping = False
        self._stopped = Event()

    def stop(self) -> None:
        """Claim nothing more, let what runs finish. From any thread or signal handler."""
        if not self._stopping:
            for line in self._lines:
                line.patience = Deadline(self._plan.grace_s + _FAREWELL_S)
        self._stopping = True
        self._stopped.set_from_handler()
        for line in self._lines:
            line.woken.set_from_handler()

    async def work(self) -> None:
        """Serve the queues until stopped and finished."""
        logger.info(
            "worker %s serves %s", self._plan.worker, ", ".join(map(str, self._plan.weights))
        )
        with ExitStack() as listening:
            for line in self._lines:
                line.channel = listening.enter_context(self._bell.heard(line.unit, line.woken))
            patience = spawn(self._lose_patience(), "holdfast grace")
            try:
                await together(*map(self._serve, self._lines))
            except HoldfastError as error:
                logger.warning("worker %s ends unheard: %s", self._plan.worker, error)
            finally:
                patience.cancel()

    async def end(self) -> None:
        """Give back what still runs, and close everything."""
        self.stop()
        try:
            with contextlib.suppress(TimeoutError, HoldfastError):
                async with time_limit(_FAREWELL_S):
                    await cancelled(*self._running.values())
                    await together(*map(self._take_leave, self._lines))
        finally:
            await self._close()

    async def _take_leave(self, line: Line) -> None:
        """Settle what is left, give back what nobody runs, and leave the waiting workers."""
        for claim in await line.step(0):  # of a step whose answer was not waited for
            line.settle(Verdict(claim, "release"))
        while line.unsettled:
            await line.step(0)

    async def _close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._renewer.close()
        self._bell.close()
        await self._caller.close()
        logger.info("worker %s has ended", self._plan.worker)

    async def _serve(self, line: Line) -> None:
        runner = Runner(self._plan.registry, line.unit.name, self._threads)
        while not self._over(line):
            rung = line.woken.is_set()
            line.woken.clear()
            self._drop_lost(line)
            want = self._reserve(line)
            # A place that gets free is for this line, too.
            line.full |= rung and not want and not self._stopping
            claims: list[Claim] = []
            if line.unsettled or (want and await self._worth_a_step(line, rung=rung)):
                finished = self._finished
                claims = await line.step(want)
                line.seen = finished
                for claim in claims:
                    self._start(line, runner, claim)
            self._free += want - len(claims)
            may_claim = self._free > 0 and not self._stopping
            if line.unsettled < STEP_LIMIT and not (line.full and may_claim):
                if not self._over(line):
                    await line.wait(may_claim=may_claim)
                await self._gather(line)

    def _over(self, line: Line) -> bool:
        """Whether *line* has nothing left to do."""
        if self._until_idle and not self._running and all(map(self._idle, self._lines)):
            self.stop()
        return self._stopping and not line.running and not line.unsettled

    def _idle(self, line: Line) -> bool:
        """Whether the queue was empty when it was last looked at, and nothing ended since then.

        What ended may have enqueued something, so the queue must be looked at once more.
        """
        return line.left == 0 and line.seen == self._finished and not line.unsettled

    async def _worth_a_step(self, line: Line, *, rung: bool) -> bool:
        return rung or self._until_idle or await line.worth_a_step()

    def _reserve(self, line: Line) -> int:
        """Take free places for the next step of *line*: its share by weight, at least one."""
        if self._stopping or not self._free:
            return 0
        weights = self._plan.weights
        hungry = sum(weights[other.unit] for other in self._lines if other.full or other is line)
        want = min(self._free, STEP_LIMIT, math.ceil(self._free * weights[line.unit] / hungry))
        self._free -= want
        return want

    def _start(self, line: Line, runner: Runner, claim: Claim) -> None:
        task = spawn(runner.run(claim), f"holdfast task {claim.task_id}")
        self._running[claim] = task
        line.running += 1
        task.add_done_callback(partial(self._finish, line, claim))

    def _finish(self, line: Line, claim: Claim, task: Running[Verdict]) -> None:
        del self._running[claim]
        line.running -= 1
        self._free += 1
        self._finished += 1
        if task.cancelled():
            verdict = Verdict(claim, "release")
        elif (error := task.exception()) is not None:
            # Given back, it would break the next runner as well, and at once.
            logger.error("task %s broke the worker's runner", claim.task_id, exc_info=error)
            verdict = Verdict(
                claim, "dead", text=f"failed: {type(error).__name__} in the worker's runner"
            )
        else:
            verdict = task.result()
        line.settle(verdict)
        for other in self._lines:
            if other.full or self._until_idle:
                other.woken.set()

    def _drop_lost(self, line: Line) -> None:
        """Stop the tasks whose lease was lost: others may run them by now."""
        while line.lost:
            claim = line.lost.popleft()
            if claim in self._running:
                logger.warning("task %s of %s lost its lease", claim.task_id, line.unit)
                self._running[claim].cancel()

    async def _gather(self, line: Line) -> None:
        """Let verdicts gather, so that many travel in one step; a lone one does not wait."""
        if line.running and 0 < line.unsettled < STEP_LIMIT:
            await sleep(_GATHER_S)

    async def _lose_patience(self) -> None:
        """After the grace of a stopped worker, give back what still runs."""
        await self._stopped.wait(None)
        await sleep(self._plan.grace_s)
        for claim, task in list(self._running.items()):
            logger.warning("task %s did not end within the grace, given back", claim.task_id)
            task.cancel()
