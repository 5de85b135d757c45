"""How tasks end, and what a worker does when its own code fails."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from ...core.concurrency._async.background_task import RunningTask
from ...core.concurrency._async.cancellation import Cancelled
from ...core.concurrency.watchdog import Blockage
from ...core.error_text import log_safely, type_name
from ...errors import HoldfastError
from ...errors.records import logger_of
from .claim import Claim, Verdict
from .claimer import Claimer
from .runner import Runner

logger = logger_of("holdfast.worker")


async def verdict_on(
    claim: Claim, runner: Runner, claimer: Claimer, fail: Callable[[BaseException], None]
) -> Verdict | None:
    """Run *claim*. Return what is to become of it; None when the server knows already.

    Args:
        claim: the task.
        runner: runs it.
        claimer: settles it at once, if the task asks for that.
        fail: given the exception that broke the claimer; the worker ends with it.
    """
    try:
        verdict = await runner.run(claim)
    except Cancelled:
        return Verdict(claim, "release")
    except GeneratorExit:  # this coroutine is closed
        raise
    except BaseException as error:  # noqa: BLE001 (a runner is to raise nothing)
        return _broken(claim, error)
    if not verdict.urgent:
        return verdict
    try:
        await claimer.settle(verdict)
    except (Cancelled, HoldfastError):  # the worker ends: it goes with the last step
        return verdict
    except GeneratorExit:
        raise
    except BaseException as error:  # noqa: BLE001 (it is raised where the worker ends)
        fail(error)
        return verdict
    return None


async def leave(claimer: Claimer, worker: str) -> None:
    """Give back the tasks of one queue. A failure leaves the other queues alone."""
    try:
        await claimer.leave()
    except HoldfastError:
        pass  # its leases will end
    except Exception as error:  # noqa: BLE001 (the worker ends anyway)
        text = "worker %s could not give back all tasks of %s"
        log_safely(logger, logging.ERROR, text, worker, claimer.unit, error=error)


def last_word(claim: Claim, task: RunningTask[Verdict | None]) -> Verdict | None:
    """Return the verdict of a *task* that has ended in whatever way."""
    if task.cancelled():  # before it began, so it had no chance to say so itself
        return Verdict(claim, "release")
    if (error := task.exception()) is not None:
        return _broken(claim, error)
    return task.result()


def _broken(claim: Claim, error: BaseException) -> Verdict:
    """Return the verdict on a task that broke the runner: released, it would break the next one."""
    text = "task %s broke the worker's runner"
    log_safely(logger, logging.ERROR, text, claim.task_id, error=error)
    reason = f"failed: {type_name(type(error))} in the worker's runner"
    return Verdict(claim, "dead", text=reason)


def guarded(
    function: Callable[..., object], fail: Callable[[BaseException], None]
) -> Callable[..., None]:
    """Return *function* as a callback that gives *fail* what it raises.

    An event loop logs what a callback raises, and goes on. The worker would wait for ever for what
    the callback has not done.
    """

    def call(*args: Any) -> None:
        try:
            function(*args)
        except BaseException as error:  # noqa: BLE001 (the worker ends with it)
            fail(error)

    return call


def raise_failure(task: RunningTask[None]) -> None:
    """Raise what *task* has raised."""
    if not task.cancelled():
        task.result()


def report(blockage: Blockage) -> None:
    """Name who blocks the event loop. From the watchdog's thread."""
    logger.warning(
        "%s has blocked the event loop for %.1f s, at %s: leases are kept, but no other task runs; "
        "await what it waits for, or make it a plain function",
        blockage.task.removeprefix("holdfast ") or "something",
        blockage.seconds,
        blockage.where,
    )
