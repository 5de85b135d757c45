"""One run of a worker, from its start until nothing of it is left."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ...core._async.caller import AsyncCaller, Settings
from ...core._async.catalog import AsyncCatalog
from ...core.clock import Deadline
from ...core.concurrency._async.background_task import (
    RunningTask,
    call_soon,
    cancel_and_wait,
    run_concurrently,
    spawn,
    wait_ended,
    yield_to_loop,
)
from ...core.concurrency._async.cancellation import time_limit
from ...core.concurrency._async.primitives import Event, sleep
from ...core.concurrency._async.user_calls import in_thread
from ...core.concurrency.loop_thread import OwnLoop
from ...core.concurrency.thread_pool import Threads
from ...core.concurrency.watchdog import Watchdog
from ...core.maxmemory import MaxmemoryCheck
from ...core.notifier import Notifier
from ...core.renewer import Renewer
from ...errors import HoldfastError
from ...errors.records import logger_of
from .claim import Claim, Verdict
from .claimer import STEP_LIMIT, Claimer
from .fair_share import PATIENCE_S, Places
from .heartbeat import EVERY_S, Sign
from .options import Plan
from .runner import Runner
from .settlement import guarded, last_word, leave, raise_failure, report, verdict_on

logger = logger_of("holdfast.worker")

_GATHER_S: Final = 0.002
"""Verdicts wait this long for company while other tasks run."""

_BLOCKED_S: Final = 1.0
"""A task that keeps the event loop from turning for so long is named in the log."""

_FAREWELL_S: Final = 5.0
"""How long a worker that is cancelled tries to give its tasks back."""


class Shift:
    """Serves every queue of a plan in a loop of its own; the places are shared.

    Args:
        settings: where the server is.
        plan: what to do.
        worker: the worker's name, for people to read.
        lookout: looks at the servers of the queues.
        until_idle: stop by itself once the queues hold nothing to be done.
    """

    def __init__(
        self,
        settings: Settings,
        plan: Plan,
        worker: str,
        maxmemory_check: MaxmemoryCheck,
        *,
        until_idle: bool,
    ) -> None:
        self._plan = plan
        self._maxmemory_check = maxmemory_check
        self._worker = worker
        self._until_idle = until_idle
        self._caller = AsyncCaller(settings)
        self._sign = Sign(self._caller, plan, worker)
        self._notifier = Notifier(settings, OwnLoop)
        self._renewer = Renewer(settings)
        self._threads = Threads(
            plan.concurrency, "holdfast task", on_freed=self._guarded(self._free_thread)
        )
        self._claimers = {
            unit.name: Claimer(
                self._caller,
                self._renewer,
                unit,
                worker=worker,
                lease_ms=plan.lease_ms,
                on_taken_away=self._guarded(self._stop_claim),
                on_damaged=self._guarded(self._end_if_idle),
            )
            for unit in plan.weights
        }
        weights = {unit.name: weight for unit, weight in plan.weights.items()}
        # At most half of the places: what one step brought runs while the server makes the next.
        most = min(STEP_LIMIT, max(1, plan.concurrency // 2))
        self._places = Places(weights, plan.concurrency, most)
        self._running: dict[Claim, _Run] = {}
        self._deaf = False  # no place is left: plain functions that nobody waits for have them all
        self._suspects: set[Claim] = set()  # with two at once, nobody could tell who killed us
        self._suspect_asked = Deadline(0)  # until then another step may bring one
        self._finished = 0
        self._looked: dict[str, int] = {}  # queue → how many had finished when it was looked at
        self._grace = Deadline(None)
        self._stopping = False
        self._gives_back = False  # whatever starts now is cancelled at once
        self._failure: BaseException | None = None  # ends this run
        self._stopped = Event()

    def stop(self, grace_s: float) -> None:
        """Claim nothing more, let what runs finish within *grace_s*.

        From any thread or signal handler. The shortest grace counts.
        """
        grace = Deadline(grace_s)
        if grace.at < self._grace.at:
            self._grace = grace
            self._stopping = True
            self._stopped.set_from_handler()
            for claimer in self._claimers.values():
                claimer.answer_within(grace_s + _FAREWELL_S)

    async def work(self) -> None:
        """Serve the queues until stopped and finished."""
        await self._caller.check_durability()
        logger.info("worker %s serves %s", self._worker, ", ".join(map(str, self._plan.weights)))
        with ExitStack() as listening:
            for claimer in self._claimers.values():
                listening.enter_context(claimer.listening(self._notifier))
            watchdog = Watchdog(_BLOCKED_S, report)
            listening.callback(watchdog.close)
            patience = self._beside(self._lose_patience(), "holdfast grace")
            noting = self._beside(self._note(), "holdfast sign of life")
            try:
                await run_concurrently(*map(self._serve, self._claimers.values()))
            except HoldfastError as error:
                if self._failure is not None or not self._stopping:
                    raise
                logger.warning("worker %s ends without its server: %s", self._worker, error)
            finally:
                await cancel_and_wait(patience, noting)

    def _beside(self, work: Coroutine[Any, Any, None], name: str) -> RunningTask[None]:
        """Do *work* beside the queues. If it fails, this run ends with its exception."""
        task = spawn(work, name)
        task.add_done_callback(self._guarded(raise_failure))
        return task

    def _guarded(self, function: Callable[..., object]) -> Callable[..., None]:
        """Return *function* as a callback: if it fails, this run ends with its exception."""
        return guarded(function, self._fail)

    def _fail(self, error: BaseException) -> None:
        """End this run with *error*, after what runs was given back."""
        if self._failure is None:
            self._failure = error
            self.stop(0)
        for claimer in self._claimers.values():
            claimer.wake()

    async def _note(self) -> None:
        """Be listed, and the queues as well: other languages put tasks into some."""
        catalog = AsyncCatalog(self._caller, self._plan.namespace)
        while True:
            for unit in self._plan.weights:
                await catalog.note(unit)
            await self._sign.give(len(self._running))
            await self._maxmemory_check.look(self._caller, self._plan.weights)
            await sleep(EVERY_S)

    async def end(self) -> None:
        """Give back what still runs, and close everything."""
        self.stop(0)
        self._gives_back = True
        try:
            with contextlib.suppress(TimeoutError, HoldfastError):
                async with time_limit(_FAREWELL_S):
                    await yield_to_loop()  # what is to start soon, starts
                    await self._stop_all(_FAREWELL_S / 2)
                    leaving = [leave(each, self._worker) for each in self._claimers.values()]
                    await run_concurrently(*leaving, self._sign.depart())
        finally:
            await self._close()

    async def _close(self) -> None:
        self._threads.close()
        try:
            await in_thread(self._renewer.close)
        finally:
            try:
                await in_thread(self._notifier.close)
            finally:
                await self._caller.close()
        logger.info("worker %s has ended", self._worker)

    async def _serve(self, claimer: Claimer) -> None:
        plan, telemetry = self._plan, self._caller.settings.telemetry
        runner = Runner(plan.registry, claimer.unit, self._threads, plan.unknown_ms, telemetry)
        while not self._over(claimer):
            await self._look(claimer)
            places = self._share(claimer)
            if places or claimer.unsettled:
                await self._step(claimer, runner, places)
            if claimer.unsettled < STEP_LIMIT and not self._share(claimer):
                if not self._over(claimer):
                    await claimer.wait(look=not self._is_hungry(claimer))
                if claimer.gathers:
                    await sleep(_GATHER_S)

    def _over(self, claimer: Claimer) -> bool:
        """Whether *claimer* has nothing left to do. Raises what this run fails with."""
        self._end_if_idle()
        if self._failure is not None:
            raise self._failure
        return self._stopping and not claimer.is_busy

    def _end_if_idle(self) -> None:
        """Stop a run until idle that is idle. It fails if a queue is damaged."""
        if not self._until_idle or self._stopping or not self._is_idle():
            return
        if errors := [each.damage.error for each in self._claimers.values() if each.damage.error]:
            self._fail(errors[0])
        else:
            self.stop(self._plan.grace_s)

    def _is_idle(self) -> bool:
        """Return whether nothing runs here, and each queue is damaged or was found empty since."""
        return not self._running and all(
            claimer.damage.error is not None
            or (self._is_known(claimer) and claimer.found_empty and not claimer.is_busy)
            for claimer in self._claimers.values()
        )

    def _is_known(self, claimer: Claimer) -> bool:
        """Whether its queue was looked at since a task ended: that may have enqueued something."""
        return self._looked.get(claimer.name) == self._finished

    async def _look(self, claimer: Claimer) -> None:
        """Find out whether tasks may wait there."""
        woken = claimer.was_woken()
        if self._is_hungry(claimer):
            return
        last_look = self._until_idle and not self._running
        if woken or last_look or await claimer.may_find_something():
            self._places.hunger(claimer.name)

    def _is_hungry(self, claimer: Claimer) -> bool:
        """Whether places are all that it lacks; a stopped worker has none to give."""
        return self._stopping or self._places.is_hungry(claimer.name)

    def _share(self, claimer: Claimer) -> int:
        """How many tasks it may claim now."""
        return 0 if self._stopping else self._places.share(claimer.name, time.monotonic())

    async def _step(self, claimer: Claimer, runner: Runner, places: int) -> None:
        """Settle what is finished, and fill so many *places*."""
        name, finished = claimer.name, self._finished
        self._places.reserve(name, places, time.monotonic())
        self._wake_next()
        suspects = self._suspects_wanted(places)
        claims = await claimer.step(places, suspects=suspects)
        if suspects:
            self._suspect_asked = Deadline(0)
        runnable = 0 if self._stopping else len(claims)
        placed = self._places.answered(name, runnable, more=claimer.may_have_more)
        for _ in range(placed):
            claimer.started()
        if claimer.may_have_more:
            # A turn later, so that the request for the next ones goes out before these run.
            call_soon(self._guarded(self._start), claimer, runner, claims[:placed])
        else:
            self._start(claimer, runner, claims[:placed])
        why = "" if self._stopping else "its place was taken before the server answered"
        claimer.give_back(claims[placed:], why)
        self._suspects.update(claim for claim in claims[:placed] if claim.is_suspect)
        if places:
            self._looked[name] = finished
        self._wake_next()

    def _wake_next(self) -> None:
        """Offer a free place. Who takes some of several wakes the next one."""
        name = self._places.next()
        if name is not None:
            self._claimers[name].wake()
        elif self._until_idle and not self._running and self._places.nobody_is_hungry:
            for claimer in self._claimers.values():
                if not self._is_known(claimer):
                    claimer.wake()

    def _suspects_wanted(self, places: int) -> int:
        """How many suspects a step may bring: one, unless one runs, or another step may bring it.

        That other one has not for ever: its server may be away.
        """
        if not places or self._suspects or not self._suspect_asked.passed:
            return 0
        self._suspect_asked = Deadline(PATIENCE_S)
        return 1

    def _start(self, claimer: Claimer, runner: Runner, claims: Sequence[Claim]) -> None:
        for claim in claims:
            if claim.crashes:
                logger.warning(
                    "task %s of %s is taken over: %d workers vanished while they ran it",
                    claim.task_id,
                    claimer.unit,
                    claim.crashes,
                )
            name = f"holdfast task {claim.task_id} of {claimer.unit}"
            task = spawn(verdict_on(claim, runner, claimer, self._fail), name)
            self._running[claim] = _Run(claimer, task)
            task.add_done_callback(self._guarded(partial(self._finish, claim)))
            if claimer.was_taken_away(claim):
                self._stop_claim(claim, "lost its lease before it began")
            elif self._gives_back:
                task.cancel()

    def _finish(self, claim: Claim, task: RunningTask[Verdict | None]) -> None:
        run = self._running.pop(claim, None)
        if run is None:
            return  # it was given up before
        run.claimer.finished(last_word(claim, task))
        self._finished += 1
        if claim in self._suspects:
            self._suspects.remove(claim)
            for name in self._claimers:  # the next one may be in any of the queues
                self._places.hunger(name)
        self._withhold()
        self._places.vacate()
        self._wake_next()

    def _free_thread(self) -> None:
        """A plain function has ended that nobody waited for any more."""
        self._withhold()
        self._wake_next()

    def _withhold(self) -> None:
        """Leave the places to plain functions that still run though nobody waits for them."""
        abandoned = self._threads.abandoned
        self._places.withhold(abandoned)
        deaf = abandoned >= self._plan.concurrency
        if deaf and not self._deaf:
            logger.warning(
                "worker %s has no place left: %d plain functions run on after their timeout or "
                "cancellation, each in its thread; give what they wait for a timeout of its own",
                self._worker,
                abandoned,
            )
        elif self._deaf and not deaf:
            logger.info("worker %s has a place again", self._worker)
        self._deaf = deaf

    def _stop_claim(self, claim: Claim, why: str) -> None:
        """Stop a task that is not this worker's any more: others may run it by now."""
        run = self._running.get(claim)
        if run is not None:
            logger.warning("task %s of %s %s: it is stopped", claim.task_id, run.claimer.unit, why)
            run.task.cancel()

    async def _lose_patience(self) -> None:
        """After the grace of a stopped worker, give back what still runs."""
        await self._stopped.wait(None)
        if self._running:
            logger.info(
                "worker %s stops: %d tasks have %.3g s to finish",
                self._worker,
                len(self._running),
                self._grace.left_s(),
            )
        while not self._grace.passed:
            self._stopped.clear()
            await self._stopped.wait(self._grace.left_s())
        self._gives_back = True
        for claim, run in self._running.items():
            if claim not in run.claimer.telling:
                logger.warning("task %s did not end in time, given back", claim.task_id)
        await self._stop_all(_FAREWELL_S)

    async def _stop_all(self, seconds: float) -> None:
        """Stop what runs; what does not let itself be stopped is given back, and runs on."""
        for share in (0.75, 0.25):  # again, since on Python 3.11 `asyncio.wait_for` may swallow one
            tasks = [run.task for run in self._running.values()]
            for task in tasks:
                task.cancel()
            await wait_ended(tasks, share * seconds)
        for claim, run in list(self._running.items()):
            logger.error("task %s ignores that it is cancelled, and runs on", claim.task_id)
            del self._running[claim]
            run.claimer.finished(Verdict(claim, "release"))


@dataclass(frozen=True, slots=True)
class _Run:
    """A claim that runs: for whom, and as what."""

    claimer: Claimer
    task: RunningTask[Verdict | None]
