"""Runs the claims of a worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from ...core.concurrency._async.background_task import (
    RunningTask,
    forget_cancellation,
    is_cancelling,
    spawn,
    wait_ended,
)
from ...core.concurrency._async.cancellation import Cancelled
from ...core.concurrency._async.primitives import sleep
from ...core.error_text import log_safely, type_name
from ...errors import HoldfastError
from ...errors.one_line_logger import logger_of
from .claim import Claim
from .claimer import Claimer
from .runner import Runner
from .step import Settlement

logger: Final = logger_of("holdfast.worker")

_CANCEL_SHARES: Final = (0.75, 0.25)
"""Cancel twice, each time for a share of the time: `asyncio.wait_for` of Python 3.11 may swallow a
cancel."""

_ITSELF_S: Final = 1.0
"""If a task is cancelled and the worker does not stop it within so many seconds, then the task has
cancelled itself.
"""


class Executions:
    """Starts claims, reports their ends to their claimers, and stops them.

    Args:
        guarded: wraps a function as a callback; an exception of the function ends the worker.
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
        """Run *claims*, each in an asyncio task of its own."""
        for claim in claims:
            if claim.crashes:
                logger.warning(
                    "task %s of %s runs again after %s of its worker or child process",
                    claim.task_id,
                    claimer.unit,
                    "1 crash" if claim.crashes == 1 else f"{claim.crashes} crashes",
                )
            name = f"holdfast task {claim.task_id} of {claimer.unit}"
            task = spawn(_run(claim, runner, claimer, self._fail, self._is_stopped), name)
            self._running[claim] = execution = _Execution(claimer, task)
            task.add_done_callback(self._guarded(partial(self._end, claim)))
            if claimer.is_lost(claim):
                self.stop(claim, "lost its lease before it began")
            elif self._cancels_new:
                execution.cancel()

    def stop(self, claim: Claim, why: str) -> None:
        """Cancel the run of *claim*, which this worker has lost. Log *why*.

        The lease has ended, so another worker may run the task by now; or the task was cancelled.
        """
        execution = self._running.get(claim)
        if execution is not None:
            unit = execution.claimer.unit
            logger.warning("task %s of %s %s: it is stopped", claim.task_id, unit, why)
            execution.cancel()

    def cancel_new(self) -> None:
        """Cancel each claim that starts from now on."""
        self._cancels_new = True

    def log_late(self) -> None:
        """Log each claim that still runs when the grace of the stopped worker is over."""
        for claim, execution in self._running.items():
            if claim not in execution.claimer.settling:
                logger.warning("task %s did not end in time, given back", claim.task_id)

    async def stop_all(self, seconds: float) -> None:
        """Cancel all claims. Release those that do not end within *seconds*; they run on."""
        for share in _CANCEL_SHARES:
            executions = list(self._running.values())
            for execution in executions:
                execution.cancel()
            await wait_ended([execution.task for execution in executions], share * seconds)
        for claim, execution in list(self._running.items()):
            logger.error("task %s ignores that it is cancelled, and runs on", claim.task_id)
            del self._running[claim]
            execution.claimer.finished(Settlement(claim, "release"))

    def _is_stopped(self, claim: Claim) -> bool:
        """Return whether the worker has stopped *claim*."""
        execution = self._running.get(claim)
        return execution is None or execution.is_stopped

    def _end(self, claim: Claim, task: RunningTask[Settlement | None]) -> None:
        execution = self._running.pop(claim, None)
        if execution is None:
            return  # `stop_all` has released it
        settlement = _settlement_of(claim, task)
        execution.claimer.finished(settlement)
        self._on_end(claim, settlement.seconds if settlement is not None else None)


@dataclass(slots=True)
class _Execution:
    """A claim that runs: its claimer, its asyncio task, and whether the worker has stopped it."""

    claimer: Claimer
    task: RunningTask[Settlement | None]
    is_stopped: bool = False

    def cancel(self) -> None:
        """Cancel the task, so that its claim is released."""
        self.is_stopped = True
        self.task.cancel()


async def _run(
    claim: Claim,
    runner: Runner,
    claimer: Claimer,
    fail: Callable[[BaseException], None],
    is_stopped: Callable[[Claim], bool],
) -> Settlement | None:
    """Run *claim* and return its settlement; None if the server has it already."""
    try:
        settlement = await runner.run(claim)
    except Cancelled:
        if not await _cancelled_itself(claim, is_stopped):
            return Settlement(claim, "release")
        settlement = runner.cancelled_itself(claim)
    except GeneratorExit:  # this coroutine is closed
        raise
    except BaseException as error:  # noqa: BLE001 (a runner must not raise)
        return _broken(claim, error)
    if is_cancelling() and not is_stopped(claim):  # it has cancelled itself, and returned
        await forget_cancellation()
    return await _reported(settlement, claimer, fail)


async def _reported(
    settlement: Settlement, claimer: Claimer, fail: Callable[[BaseException], None]
) -> Settlement | None:
    """Send the events of a task and, if it is urgent, its settlement.

    Return the settlement if the next step has to send it; None if the server has it.
    """
    try:
        if claimer.events.is_used:
            # Wait for the events here, where it does not delay the steps of the queue.
            await claimer.events.stored([settlement.claim])
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


async def _cancelled_itself(claim: Claim, is_stopped: Callable[[Claim], bool]) -> bool:
    """Return whether the task of *claim* has cancelled itself.

    The cancellation may also come from an event loop that ends. Then the worker ends too, and stops
    the task within `_ITSELF_S`.
    """
    if is_stopped(claim):
        return False
    await forget_cancellation()
    try:
        await sleep(_ITSELF_S)
    except Cancelled:
        return False
    return not is_stopped(claim)


def _settlement_of(claim: Claim, task: RunningTask[Settlement | None]) -> Settlement | None:
    """Return the settlement of *claim* after its asyncio *task* has ended."""
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
