"""Runs the claims of a worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ...core.concurrency._async.background_task import RunningTask, spawn, wait_ended
from ...core.concurrency._async.cancellation import Cancelled
from ...core.error_text import log_safely, type_name
from ...errors import HoldfastError
from ...errors.one_line_logger import logger_of
from .claim import Claim
from .claimer import Claimer
from .runner import Runner
from .step import Settlement

logger: Final = logger_of("holdfast.worker")


class Executions:
    """Starts claims, reports their ends to their claimers, and stops them.

    Args:
        guarded: makes a callback of a function; what the function raises ends the worker.
        fail: ends the worker with an exception.
        on_end: called after the end of each claim, in the worker's loop, with the seconds that it
            took if they are known.
    """

    def __init__(
        self,
        guarded: Callable[[Callable[..., object]], Callable[..., None]],
        fail: Callable[[BaseException], None],
        on_end: Callable[[Claim, float | None], None],
    ) -> None:
        self._guarded = guarded
        self._fail = fail
        self._on_end = on_end
        self._running: dict[Claim, _Execution] = {}
        self._cancels_new = False

    def __len__(self) -> int:
        return len(self._running)

    def start(self, claimer: Claimer, runner: Runner, claims: Sequence[Claim]) -> None:
        """Run *claims*, each in a task of its own."""
        for claim in claims:
            if claim.crashes:
                logger.warning(
                    "task %s of %s runs again after %s of its worker or child process",
                    claim.task_id,
                    claimer.unit,
                    "1 crash" if claim.crashes == 1 else f"{claim.crashes} crashes",
                )
            name = f"holdfast task {claim.task_id} of {claimer.unit}"
            task = spawn(_run(claim, runner, claimer, self._fail), name)
            self._running[claim] = _Execution(claimer, task)
            task.add_done_callback(self._guarded(partial(self._end, claim)))
            if claimer.is_lost(claim):
                self.stop(claim, "lost its lease before it began")
            elif self._cancels_new:
                task.cancel()

    def stop(self, claim: Claim, why: str) -> None:
        """Cancel a claim that this worker lost, because another worker may run the task by now."""
        execution = self._running.get(claim)
        if execution is not None:
            unit = execution.claimer.unit
            logger.warning("task %s of %s %s: it is stopped", claim.task_id, unit, why)
            execution.task.cancel()

    def cancel_new(self) -> None:
        """Cancel each claim that starts from now on."""
        self._cancels_new = True

    def log_late(self) -> None:
        """Log each claim that did not end within the grace."""
        for claim, execution in self._running.items():
            if claim not in execution.claimer.settling:
                logger.warning("task %s did not end in time, given back", claim.task_id)

    async def stop_all(self, seconds: float) -> None:
        """Cancel all claims. Release those that do not end within *seconds*; they run on."""
        for share in (
            0.75,
            0.25,
        ):  # twice, because `asyncio.wait_for` of Python 3.11 may swallow a cancel
            tasks = [execution.task for execution in self._running.values()]
            for task in tasks:
                task.cancel()
            await wait_ended(tasks, share * seconds)
        for claim, execution in list(self._running.items()):
            logger.error("task %s ignores that it is cancelled, and runs on", claim.task_id)
            del self._running[claim]
            execution.claimer.finished(Settlement(claim, "release"))

    def _end(self, claim: Claim, task: RunningTask[Settlement | None]) -> None:
        execution = self._running.pop(claim, None)
        if execution is None:
            return  # `stop_all` has released it
        settlement = _settlement_of(claim, task)
        execution.claimer.finished(settlement)
        self._on_end(claim, settlement.seconds if settlement is not None else None)


@dataclass(frozen=True, slots=True)
class _Execution:
    """A claim that runs: its claimer, and its task in the loop."""

    claimer: Claimer
    task: RunningTask[Settlement | None]


async def _run(
    claim: Claim, runner: Runner, claimer: Claimer, fail: Callable[[BaseException], None]
) -> Settlement | None:
    """Run *claim* and return its settlement; None if the server has it already."""
    try:
        settlement = await runner.run(claim)
    except Cancelled:
        return Settlement(claim, "release")
    except GeneratorExit:  # this coroutine is closed
        raise
    except BaseException as error:  # noqa: BLE001 (a runner must not raise)
        return _broken(claim, error)
    try:
        if claimer.events.is_used:
            await claimer.events.stored([claim])  # here it does not delay the steps of the queue
        if not settlement.urgent:
            return settlement
        await claimer.settle(settlement)
    except (Cancelled, HoldfastError):  # the worker ends: its last step settles the task
        return settlement
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 (the worker ends with it)
        fail(error)
        return settlement
    return None


def _settlement_of(claim: Claim, task: RunningTask[Settlement | None]) -> Settlement | None:
    """Return the settlement of a *task* that returned, raised or was cancelled."""
    if task.cancelled():  # before it began
        return Settlement(claim, "release")
    if (error := task.exception()) is not None:
        return _broken(claim, error)
    return task.result()


def _broken(claim: Claim, error: BaseException) -> Settlement:
    """Return the settlement of a task that broke the runner.

    The task is dead: if it were released, it would break the next worker as well.
    """
    text = "task %s broke the worker's runner"
    log_safely(logger, logging.ERROR, text, claim.task_id, error=error)
    reason = f"failed: {type_name(type(error))} in the worker's runner"
    return Settlement(claim, "dead", text=reason)
