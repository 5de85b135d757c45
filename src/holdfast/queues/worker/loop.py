"""Runs a worker once, from its start until everything is closed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, Literal

from ...core._async.caller import AsyncCaller, Settings
from ...core._async.durability_check import check_durability
from ...core.concurrency._async.background_task import (
    RunningTask,
    call_soon,
    cancel_and_wait,
    run_concurrently,
    spawn,
    yield_to_loop,
)
from ...core.concurrency._async.cancellation import time_limit
from ...core.concurrency._async.user_calls import in_thread
from ...core.concurrency.loop_thread import OwnLoop
from ...core.concurrency.thread_pool import Threads
from ...core.concurrency.watchdog import Watchdog
from ...core.maxmemory import MaxmemoryCheck
from ...core.names import Unit
from ...core.notifier import Notifier
from ...core.renewer import Renewer
from ...errors import HoldfastError
from ...errors.one_line_logger import logger_of
from ..steps.store import StepStore
from .abandoned import AbandonedFunctions
from .blockage_log import log_blockage
from .claim import Claim
from .claimer import Claimer
from .cpu_queues import CpuQueues
from .executions import Executions
from .fair_share import FairShare
from .heartbeat import Heartbeat
from .idle_check import IdleCheck
from .leaving import END_S, Grace, end_grace, leave
from .options import WorkerOptions
from .outages import Outages
from .partition_claimers import PartitionClaimers
from .poison_limit import PoisonLimit
from .runner import Runner
from .running_lifespan import RunningLifespan
from .schedulers import Schedulers
from .slot_offers import SlotOffers
from .start_check import StartCheck, server_of
from .step import STEP_LIMIT
from .worker_health import WorkerHealth

logger: Final = logger_of("holdfast.worker")

_BATCH_S: Final = 0.002
"""Seconds for which a step waits for more settlements while tasks run, unless it is full."""

_BLOCKED_S: Final = 1.0
"""Seconds that a task may block the event loop before the log names it."""


class WorkerLoop:
    """Serves the queues of a worker; all of them share its slots.

    Args:
        settings: how to connect to the server.
        options: options of the worker.
        worker: the worker's name, for people to read.
        maxmemory_check: checks the eviction policy of the servers of the queues.
        until_idle: whether to stop once no task is left to do.
    """

    def __init__(
        self,
        settings: Settings,
        options: WorkerOptions,
        worker: str,
        maxmemory_check: MaxmemoryCheck,
        *,
        until_idle: bool,
    ) -> None:
        self._options, self._worker = options, worker
        self._until_idle, self._stopping = until_idle, False
        self._caller = AsyncCaller(settings, namespace=options.namespace)
        self._executions = Executions(self._guarded, self._fail, self._task_ended)
        self._outages = Outages(worker, partial(server_of, self._caller))
        self._start_check = StartCheck(self._caller, options.namespace, self._outages)
        self._notifier = Notifier(settings, OwnLoop)
        self._renewer = Renewer(settings)
        freed = self._guarded(self._thread_freed)
        self._threads = Threads(options.concurrency, "holdfast task", on_freed=freed)
        self._listening = contextlib.ExitStack()
        self._new_claimer = partial(
            Claimer,
            self._caller,
            self._renewer,
            worker=worker,
            lease_ms=options.lease_ms,
            outages=self._outages,
            on_lost=self._guarded(self._executions.stop),
            on_damaged=self._guarded(self._stop_if_idle),
        )
        self._claimers = {unit.name: self._new_claimer(unit, unit.name) for unit in options.weights}
        self._schedulers = Schedulers(self._caller, self._notifier, options, self._spawn)
        # At most half of the slots: the tasks of one step run while the server makes the next one.
        self._most = most = min(STEP_LIMIT, max(1, options.concurrency // 2))
        weights = {unit.name: weight for unit, weight in options.weights.items()}
        self._slots = FairShare(weights, options.concurrency, most)
        self._cpu_queues = CpuQueues(options, self._claimers, self._slots, self._guarded)
        self._cpu = self._cpu_queues.pool
        self._partitions = PartitionClaimers(
            *(self._caller, self._notifier, options.namespace, self._slots, self._spawn),
            *(lambda: self._stopping, self._add_partition, self._serve),
        )
        self._heartbeat = Heartbeat(
            self._caller,
            options,
            worker,
            maxmemory_check,
            self._executions.__len__,
            is_used=lambda unit: self._claimers[unit.name].was_used,
            cpu=self._cpu,
        )
        self._offers = SlotOffers(self._slots, self._guarded(self._wake_next))
        self._poison_limit = PoisonLimit()
        self._abandoned = AbandonedFunctions(
            self._threads, self._slots, options.concurrency, worker
        )
        self._lifespan = RunningLifespan(options.registry.lifespan, options.info(worker))
        self._idle_check = IdleCheck(self._claimers.values(), self._executions)
        self._grace = Grace()
        self._failure: BaseException | None = None
        self._watchdog: Watchdog | None = None

    @property
    def serving(self) -> bool:
        """Return whether the worker claims tasks of any queue. From any thread."""
        return self._start_check.has_begun and not self._stopping

    @property
    def tasks_ended(self) -> int:
        """Return how many attempts have ended."""
        return self._idle_check.tasks_ended

    @property
    def cpu_pids(self) -> list[int]:
        """Return the process ids of the children that run CPU-bound tasks. From any thread."""
        return self._cpu.pids

    def stop(self, grace_s: float) -> None:
        """Claim nothing more, and let what runs finish within *grace_s*.

        From any thread or signal handler. The shortest grace counts.
        """
        if self._grace.shorten(grace_s):
            self._stopping = True
            self._start_check.stop()
            self._grace.begin()
            self._cpu.cancel_start()
            self._lifespan.cancel_start()
            for claimer in list(self._claimers.values()):
                claimer.answer_within(grace_s + END_S)

    def health(self) -> WorkerHealth:
        """Return the health of this run. From any thread."""
        now, claimers = time.monotonic(), list(self._claimers.values())
        has_started = self._start_check.has_passed(self._options.weights)
        running: Literal["starting", "serving"] = "serving" if has_started else "starting"
        return WorkerHealth(
            state="stopping" if self._stopping else running,
            blocked_s=0.0 if self._watchdog is None else self._watchdog.lag_s,
            silent_s=max(now - claimer.contact.answered_at for claimer in claimers),
            problems=tuple(self._outages.problems()),
        )

    async def work(self) -> None:
        """Serve the queues until stopped and finished."""
        await check_durability(self._caller)
        if not await self._cpu.start(self._claimers) or not await self._lifespan.start():
            return
        claimers = list(self._claimers.values())
        for claimer in claimers:
            self._listening.enter_context(claimer.listening(self._notifier, self._guarded))
        self._watchdog = watchdog = Watchdog(_BLOCKED_S, log_blockage)
        self._listening.callback(watchdog.close)
        ending = end_grace(self._grace, self._executions, self._worker)
        grace = self._spawn(ending, "holdfast grace")
        heartbeat = self._spawn(self._heartbeat.run(), "holdfast heartbeat")
        try:
            await run_concurrently(*map(self._serve, claimers))
            await self._partitions.wait_ended()
        except HoldfastError as error:
            if self._failure is not None or not self._stopping:
                raise
            logger.warning("worker %s ends without its server: %s", self._worker, error)
        finally:
            await self._partitions.end()
            await cancel_and_wait(grace, heartbeat)

    async def end(self) -> None:
        """Give back what still runs, end the lifespan, and close everything."""
        self.stop(0)
        self._executions.cancel_new()
        async with contextlib.AsyncExitStack() as ending:  # each part ends, even if another fails
            ending.push_async_callback(self._close)
            ending.push_async_callback(self._lifespan.end)
            ending.push_async_callback(yield_to_loop)  # Unsubscribe now: a lifespan may block.
            ending.callback(self._listening.close)  # Claimers that leave still wait for messages.
            with contextlib.suppress(TimeoutError, HoldfastError):
                async with time_limit(END_S):
                    await yield_to_loop()  # tasks that are scheduled to start now do so
                    await self._executions.stop_all(END_S / 2)
                    await run_concurrently(
                        *(leave(each, self._worker) for each in self._claimers.values()),
                        self._heartbeat.end(),
                    )

    def _add_partition(self, unit: Unit, name: str) -> Claimer:
        """Add a claimer for a partition."""
        claimer = self._claimers[name] = self._new_claimer(unit, name)
        self._listening.enter_context(claimer.listening(self._notifier, self._guarded))
        self._cpu_queues.add(claimer)
        return claimer

    async def _close(self) -> None:
        self._threads.close()
        await self._cpu.close()
        try:
            await in_thread(self._renewer.close)
        finally:
            try:
                await in_thread(self._notifier.close)
            finally:
                await self._caller.close()
        logger.info("worker %s has ended", self._worker)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> RunningTask[None]:
        """Run *work* in the background. If it fails, this run ends with its exception."""
        task = spawn(work, name)
        task.add_done_callback(self._guarded(lambda task: task.cancelled() or task.result()))
        return task

    def _guarded(self, function: Callable[..., object]) -> Callable[..., None]:
        """Return *function* as a callback: if it fails, this run ends with its exception.

        An event loop only logs what a callback raises. The worker would then wait without limit for
        what the callback has not done.
        """

        def call(*args: Any) -> None:
            try:
                function(*args)
            except BaseException as error:  # noqa: BLE001 (the worker ends with it)
                self._fail(error)

        return call

    def _fail(self, error: BaseException) -> None:
        """End this run with *error*, after the running tasks are given back."""
        if self._failure is None:
            self._failure = error
            self.stop(0)
        for claimer in self._claimers.values():
            claimer.wake()

    async def _serve(self, claimer: Claimer) -> None:
        """Claim, run and settle the tasks of one queue."""
        options = self._options
        runner = Runner(
            options.registry,
            claimer.unit,
            self._threads,
            options.unknown_ms,
            self._lifespan.state,
            claimer.events,
            cpu=self._cpu,
            steps=StepStore(self._caller, claimer.unit),
        )
        claimer.direct.start = partial(self._start_directly, claimer, runner)
        await self._start_check.wait_passed(claimer)
        if claimer.unit in options.weights:
            await self._partitions.begin(claimer)
        if self._start_check.has_passed(options.weights):
            logger.info("worker %s serves %s", self._worker, ", ".join(map(str, options.weights)))
        idle, at_once = self._idle_check, self._until_idle
        async with self._schedulers.firing(claimer, lambda: self._stopping, idle, at_once=at_once):
            while not self._is_over(claimer):
                await claimer.direct.let_end()
                await self._look_for_tasks(claimer)
                slots = self._share(claimer)
                if slots or claimer.unsettled:
                    await self._step(claimer, runner, slots)
                if claimer.unsettled < STEP_LIMIT and not self._share(claimer):
                    if not self._is_over(claimer):
                        await claimer.wait(until_step=not self._needs_only_slots(claimer))
                    if claimer.may_batch:
                        await claimer.gather(self._most, _BATCH_S)
        await claimer.retire()

    def _is_over(self, claimer: Claimer) -> bool:
        """Return whether *claimer* has nothing left to do. If this run has failed, raise why."""
        self._stop_if_idle()
        if self._failure is not None:
            raise self._failure
        return self._stopping and not claimer.is_busy

    def _stop_if_idle(self) -> None:
        """Stop a run with `until_idle` once all queues are idle. It fails if a queue is damaged."""
        if not self._until_idle or self._stopping or not self._idle_check.is_idle:
            return
        if errors := [each.damage.error for each in self._claimers.values() if each.damage.error]:
            self._fail(errors[0])
        else:
            self.stop(self._options.grace_s)

    async def _look_for_tasks(self, claimer: Claimer) -> None:
        """Find out whether the queue may have tasks."""
        woken = claimer.was_woken()
        if self._needs_only_slots(claimer):
            if not self._stopping:
                await claimer.contact.keep()
            return
        last_look = self._until_idle and not self._executions
        if woken or last_look or await claimer.may_find_tasks():
            self._slots.expect_tasks(claimer.name)

    def _needs_only_slots(self, claimer: Claimer) -> bool:
        """Return whether a step needs only free slots; a stopping worker gives none."""
        return self._stopping or self._slots.may_have_tasks(claimer.name)

    def _share(self, claimer: Claimer) -> int:
        """Return how many tasks the queue may claim now."""
        if self._stopping:
            return 0
        share = self._slots.share(claimer.name, time.monotonic())
        return self._cpu_queues.room(claimer.name, share)

    def _start_directly(self, claimer: Claimer, runner: Runner, claim: Claim) -> bool:
        """Start *claim*, which a producer made for this worker. Return False if no slot is free."""
        if self._stopping or not self._slots.take(claimer.name):
            return False
        claimer.started(1)
        self._cpu_queues.update()
        self._executions.start(claimer, runner, [claim])
        return True

    async def _step(self, claimer: Claimer, runner: Runner, slots: int) -> None:
        """Settle what is finished, and fill up to *slots* slots."""
        name, tasks_ended = claimer.name, self._idle_check.tasks_ended
        self._slots.reserve(name, slots, time.monotonic())
        self._wake_next()
        poison_limit = self._poison_limit.next(slots)
        claims = await claimer.step(slots, poison_limit=poison_limit)
        if poison_limit:
            self._poison_limit.answered()
        runnable = 0 if self._stopping else len(claims)
        placed = self._slots.answered(name, runnable, more=claimer.may_have_more)
        claimer.started(placed)
        self._cpu_queues.update()
        if claimer.may_have_more:
            # In the next turn of the loop, so that the next step is sent before these tasks run.
            call_soon(self._guarded(self._executions.start), claimer, runner, claims[:placed])
        else:
            self._executions.start(claimer, runner, claims[:placed])
        why = "" if self._stopping else "its slot was taken before the server answered"
        claimer.release(claims[placed:], why)
        claimer.direct.start_waiting()
        self._poison_limit.add(claims[:placed])
        if slots:
            self._idle_check.step_made(claimer, tasks_ended)
        self._wake_next()

    def _wake_next(self) -> None:
        """Wake the claimer of the queue that gets the next slot. Its step wakes the next one."""
        if (name := self._slots.next()) is not None:
            self._claimers[name].wake()
        elif self._until_idle and not self._executions and self._slots.all_empty:
            for claimer in self._claimers.values():
                if not self._idle_check.is_examined(claimer):
                    claimer.wake()

    def _task_ended(self, claim: Claim, seconds: float | None) -> None:
        """Free the slot of *claim*, which took *seconds*."""
        self._idle_check.tasks_ended += 1
        if self._poison_limit.remove(claim):
            for name in self._claimers:  # the next poison task may be in any of the queues
                self._slots.expect_tasks(name)
        self._abandoned.update()
        self._slots.release(seconds)
        self._cpu_queues.update()
        self._offers.slot_freed()

    def _thread_freed(self) -> None:
        """Free the slot of an abandoned plain function that has ended."""
        self._abandoned.update()
        self._wake_next()
