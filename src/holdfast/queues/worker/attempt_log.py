"""Logs each attempt to run a task."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from types import TracebackType
from typing import Final

from ...core.error_text import log_safely
from ...core.trace import current_trace
from ...errors import on_one_line
from ...errors.one_line_logger import logger_of
from ..outcomes import GiveUp, RetryAfter
from ..steps.interrupts import ClaimLost, StepInterrupt
from .step import Settlement

logger: Final = logger_of("holdfast.worker")

_LEVELS: Final = {
    "done": logging.INFO,
    "retry": logging.WARNING,
    "snooze": logging.INFO,
    "suspend": logging.INFO,
    "park": logging.WARNING,
    "dead": logging.ERROR,
    "crash": logging.ERROR,
    "give_up": logging.WARNING,
}
_OUTCOMES: Final = {
    "done": "done",
    "retry": "{0.text}; runs again in {0.ms} ms",
    "snooze": "{0.text}; runs again in {0.ms} ms",
    "suspend": "{0.text}",
    "park": "{0.text}; waits for a worker that knows it",
    "dead": "dead, {0.text}",
    "crash": "{0.text}",
    "give_up": "dead, {0.text}",
}

_PACKAGE: Final = str(Path(__file__).parents[2])
# The descriptors of `BaseException` itself, because a subclass may override these attributes.
_CAUSE, _CONTEXT, _IS_ALONE, _TRACEBACK = (
    BaseException.__dict__[name]
    for name in ("__cause__", "__context__", "__suppress_context__", "__traceback__")
)


def log_attempt(
    settlement: Settlement,
    queue: str,
    task: str,
    duration_s: float,
    raised: BaseException | None,
    *,
    level: int | None = None,
) -> None:
    """Log which task was run, how the attempt ended, and how long it took.

    Args:
        settlement: how the attempt ended.
        queue: name of the queue.
        task: name of the task; empty if the envelope is unreadable.
        duration_s: duration of the attempt in seconds.
        raised: exception to log with its traceback, or None.
        level: level of the record. None: the usual level of the settlement.
    """
    level = _LEVELS[settlement.verb] if level is None else level
    if not logger.isEnabledFor(level):
        return
    claim, trace = settlement.claim, current_trace()
    log_safely(
        logger,
        level,
        "task %s (%s) of queue %s, attempt %d, %.3f s: %s",
        claim.task_id,
        on_one_line(task) or "?",
        on_one_line(queue),
        claim.attempt,
        duration_s,
        on_one_line(_OUTCOMES[settlement.verb].format(settlement)),
        error=None if raised is None or _was_planned(raised) else _without_own_frames(raised),
        extra={
            "holdfast_task_id": claim.task_id,
            "holdfast_task": task,
            "holdfast_queue": queue,
            "holdfast_attempt": claim.attempt,
            "holdfast_duration_s": duration_s,
            "holdfast_outcome": settlement.verb,
            "holdfast_trace_id": trace.trace_id if trace else "",
            "holdfast_span_id": trace.span_id if trace else "",
        },
    )


def _was_planned(error: BaseException) -> bool:
    """Return whether the task chose this outcome, so that a traceback would explain nothing.

    Return True also if a step could not be stored: the code of the task is not the cause.
    """
    if type(error) in (ClaimLost, StepInterrupt):
        return True
    if not issubclass(type(error), GiveUp | RetryAfter) or _CAUSE.__get__(error) is not None:
        return False
    if _IS_ALONE.__get__(error):  # raised `from None`
        return True
    # If the worker was started inside an `except` block, Python sets the exception handled there as
    # the context of each exception that a task raises. The task has not chosen that context.
    context = _CONTEXT.__get__(error)
    return context is None or context is sys.exception()


def _without_own_frames(error: BaseException) -> BaseException:
    """Return *error* without the frames of Holdfast, which do not help the author of the task."""
    frame: TracebackType | None = _TRACEBACK.__get__(error)
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.tb_next
    return BaseException.with_traceback(error, frame)
