"""Decides how to settle a task that was run, or that cannot run here."""

from __future__ import annotations

import logging
from typing import Any, Final

from ...core.codec import JSON, encoded
from ...core.error_text import described, error_text, log_safely
from ...errors import PayloadTooLarge
from ...errors.one_line_logger import logger_of
from ..envelope import Envelope
from ..outcomes import REASON_LIMIT, ending_of, reason_of
from ..registry import Task
from ..steps.interrupts import TaskSuspended
from .attempt_rules import retry_of
from .claim import MAX_CRASHES, Claim
from .cpu_pool import TaskCrashed
from .step import Settlement

logger: Final = logger_of("holdfast.worker")


def done(claim: Claim, task: Task[..., Any], result: Any, *, is_member: bool = False) -> Settlement:
    """Return the settlement of a task with a function that returned *result*.

    The result of a member of a group (*is_member*) is sent even if the task keeps no results
    (`result_ttl`), because the group needs it.
    """
    urgent = task.ack == "now"
    if not task.result_ttl_ms and not is_member:
        return Settlement(claim, "done", urgent=urgent)
    return Settlement(claim, "done", task.result_ttl_ms, _stored(claim, task, result), urgent)


def suspended(claim: Claim, task: Task[..., Any], suspension: TaskSuspended) -> Settlement:
    """Return the settlement of a task that sleeps, or waits for a signal."""
    text = reason_of(suspension.state, suspension.step)
    return Settlement(claim, "suspend", text=text, urgent=task.ack == "now")


def failed(
    claim: Claim, task: Task[..., Any], envelope: Envelope, error: BaseException
) -> Settlement:
    """Return the settlement of a task that failed with *error*, by its retry policy."""
    ending = ending_of(error, retry_of(envelope, task), claim.failures, claim.snoozes)
    urgent = task.ack == "now"
    if ending.pause_ms is not None:
        longest_ms = max(ending.wait_ms, ending.pause_ms)
        return Settlement(
            claim, ending.verb, longest_ms, ending.reason, urgent=True, pauses_key=True
        )
    return Settlement(claim, ending.verb, ending.wait_ms, ending.reason, urgent)


def crashed(claim: Claim, task: Task[..., Any], crash: TaskCrashed) -> Settlement:
    """Return the settlement of a CPU-bound task after its child process died."""
    crashes = claim.crashes + 1
    text = f"{crash}, crash {crashes} of {MAX_CRASHES}"
    return Settlement(claim, "crash", text=reason_of("crashed", text), urgent=task.ack == "now")


def parked(claim: Claim, kind: str, error: Exception, max_ms: int) -> Settlement:
    """Return the settlement of a task that this worker does not know.

    The task waits up to *max_ms* milliseconds for a worker that knows it, and is dead after that.
    """
    return Settlement(claim, "park", max_ms, reason_of(kind, str(error)))


def dead(claim: Claim, kind: str, error: Exception) -> Settlement:
    """Return the settlement of a task that can never run, because of *error*."""
    return Settlement(claim, "dead", text=reason_of(kind, str(error)))


def _stored(claim: Claim, task: Task[..., Any], result: Any) -> bytes:
    """Return *result* as it is stored.

    If it cannot be stored, then return the reason instead, because the task is done anyway.
    """
    if result is None:
        return b"=null"
    try:
        return b"=" + encoded(
            JSON, task.types.stored_result(result), f"the result of task {task.name!r}"
        )
    except BaseException as error:  # noqa: BLE001 (its objects may raise anything)
        plain = isinstance(error, TypeError | PayloadTooLarge)
        text = error_text(error, REASON_LIMIT) if plain else described(error, REASON_LIMIT)
        log_safely(logger, logging.WARNING, "task %s is done, but %s", claim.task_id, text)
        return b"!" + reason_of("bad-result", text).encode()
