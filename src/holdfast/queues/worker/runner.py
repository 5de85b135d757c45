"""Runs one claimed task and decides how to settle it."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from ...core.codec import JSON, encoded
from ...core.concurrency._async.background_task import current_task, is_cancelling, is_current_task
from ...core.concurrency._async.cancellation import Cancelled, time_limit
from ...core.concurrency.thread_pool import Threads
from ...core.error_text import described, error_text, log_safely, type_name
from ...core.names import Unit
from ...core.telemetry import Activity, Fact, Telemetry, during
from ...core.trace import TraceContext, current_trace, enter_trace
from ...errors import DecodeError, PayloadTooLarge, UnknownTask, on_one_line
from ...errors.records import logger_of
from ..envelope import Envelope, is_newer
from ..registry import Task, TaskRegistry
from .claim import Claim
from .running_task import RunningTask, enter
from .step import Settlement, Verb

logger = logger_of("holdfast.worker")

_REASON_LIMIT: Final = 500
"""Characters of a reason that are stored; the log has the rest."""


class Runner:
    """Runs tasks of one queue.

    Args:
        registry: the tasks that may run.
        unit: the queue.
        threads: run plain functions.
        unknown_ms: how long a task that is not in the registry waits for a worker that knows it.
        telemetry: records what runs.
    """

    def __init__(
        self,
        registry: TaskRegistry,
        unit: Unit,
        threads: Threads,
        unknown_ms: int,
        telemetry: Telemetry | None,
    ) -> None:
        self._registry = registry
        self._unit = unit
        self._telemetry = telemetry
        self._threads = threads
        self._unknown_ms = unknown_ms
        self._unknown: set[str] = set()  # names that were logged

    async def run(self, claim: Claim) -> Settlement:
        """Run the task of *claim*, and return its settlement, whatever the task does.

        Raises:
            Cancelled: the worker stops, or has lost the lease.
        """
        started = time.monotonic()
        envelope: Envelope | None = None
        task: Task[..., Any] | None = None
        raised: BaseException | None = None
        try:
            envelope = Envelope.unpacked(claim.body, claim.task_id)
            task = self._registry.get(envelope.task)
            args, kwargs = task.converted(envelope.args, envelope.kwargs)
        except (DecodeError, UnknownTask) as error:
            settlement = self._refused(claim, envelope, error)
        except BaseException as error:  # an argument type of the user raised it
            if task is None or envelope is None:
                raise
            raised, settlement = error, _failed(claim, task, error)
            with self._recorded(claim, envelope.trace, task.name) as work:
                work.ended(settlement.verb, type_name(type(error)))
        else:
            enter_trace(envelope.trace)
            with self._recorded(claim, envelope.trace, task.name) as work:
                enter_trace(work.trace)
                settlement, raised = await self._outcome(claim, envelope, task, args, kwargs)
                work.ended(settlement.verb, type_name(type(raised)) if raised is not None else "")
        name = envelope.task if envelope else ""
        level = _LEVELS[settlement.verb]
        if settlement.verb == "park":
            level = logging.DEBUG if name in self._unknown else level
            self._unknown.add(name)
        if logger.isEnabledFor(level):
            self._log(level, settlement, name, time.monotonic() - started, raised)
        return settlement

    async def _outcome(
        self, claim: Claim, envelope: Envelope, task: Task[..., Any], args: Any, kwargs: Any
    ) -> tuple[Settlement, BaseException | None]:
        """Run the function. Return the settlement, and the exception that it raised, if any."""
        running = RunningTask(
            claim.task_id,
            task.name,
            self._unit.name,
            claim.attempt,
            claim.token,
            envelope.enqueued_ms,
        )
        here = current_task()
        try:
            result = await self._invoke(task, running, args, kwargs)
            return _done(claim, task, result), None
        except Cancelled:
            raise
        except BaseException as error:  # the task raised it
            # Only a GeneratorExit may come from outside, if the loop closes this coroutine.
            if type(error) is GeneratorExit and not is_current_task(here):
                raise
            return _failed(claim, task, error), error

    async def _invoke(
        self, task: Task[..., Any], running: RunningTask, args: Any, kwargs: Any
    ) -> Any:
        enter(running)  # each task runs in a context of its own
        if task.timeout_s is None:
            return await self._result(task, args, kwargs)
        limit = time_limit(task.timeout_s)
        try:
            async with limit:
                return await self._result(task, args, kwargs)
        except TimeoutError as error:
            if not limit.expired():
                raise
            late = TimeoutError(f"it took longer than its timeout, {task.timeout_s:g} s")
            for note in getattr(error.__context__, "__notes__", ()):  # where its thread was
                late.add_note(note)
            raise late from None

    async def _result(self, task: Task[..., Any], args: Any, kwargs: Any) -> Any:
        function: Callable[..., Any] = task.function
        try:
            if task.is_async:
                return await function(*args, **kwargs)
            result = await self._threads.run(partial(function, *args, **kwargs))
            if _is_awaitable(result):  # an async function behind a plain decorator
                return await result
        except Cancelled as error:
            if is_cancelling():
                raise
            raise RuntimeError("the task cancelled itself") from error
        return result

    def _refused(
        self, claim: Claim, envelope: Envelope | None, error: DecodeError | UnknownTask
    ) -> Settlement:
        """Return the settlement of a task that cannot run here, and record the attempt.

        A name that is not in the registry is no label: another program may choose any number.
        """
        name = ""
        if isinstance(error, UnknownTask):
            settlement = self._parked(claim, "unknown-task", error)
        elif envelope is not None:
            name = envelope.task
            settlement = _dead(claim, "bad-arguments", error)
        elif is_newer(claim.body):
            settlement = self._parked(claim, "unknown-version", error)
        else:
            settlement = _dead(claim, "undecodable", error)
        with self._recorded(claim, envelope.trace if envelope else None, name) as work:
            work.ended(settlement.verb, type_name(type(error)))
        return settlement

    def _recorded(
        self, claim: Claim, trace: TraceContext | None, name: str
    ) -> AbstractContextManager[Activity]:
        """Record one attempt; *name* is empty for a task that is not in the registry."""
        facts: dict[str, Fact] = {"id": claim.task_id, "task": name, "attempt": claim.attempt}
        return during(self._telemetry, "process", self._unit, trace=trace, facts=facts)

    def _parked(self, claim: Claim, kind: str, error: Exception) -> Settlement:
        return Settlement(claim, "park", self._unknown_ms, _reason(kind, str(error)))

    def _log(
        self,
        level: int,
        settlement: Settlement,
        name: str,
        duration_s: float,
        raised: BaseException | None,
    ) -> None:
        """Log one attempt: which task, how it ended, and how long it took."""
        claim, trace = settlement.claim, current_trace()
        log_safely(
            logger,
            level,
            "task %s (%s) of queue %s, attempt %d, %.3f s: %s",
            claim.task_id,
            on_one_line(name) or "?",
            on_one_line(self._unit.name),
            claim.attempt,
            duration_s,
            on_one_line(_OUTCOMES[settlement.verb].format(settlement)),
            error=None if raised is None else _without_own_frames(raised),
            extra={
                "holdfast_task_id": claim.task_id,
                "holdfast_task": name,
                "holdfast_queue": self._unit.name,
                "holdfast_attempt": claim.attempt,
                "holdfast_duration_s": duration_s,
                "holdfast_outcome": settlement.verb,
                "holdfast_trace_id": trace.trace_id if trace else "",
                "holdfast_span_id": trace.span_id if trace else "",
            },
        )


_LEVELS: Final = {
    "done": logging.INFO,
    "retry": logging.WARNING,
    "park": logging.WARNING,
    "dead": logging.ERROR,
}
_OUTCOMES: Final = {
    "done": "done",
    "retry": "{0.text}; runs again in {0.ms} ms",
    "park": "{0.text}; waits for a worker that knows it",
    "dead": "dead, {0.text}",
}

_PACKAGE: Final = str(Path(__file__).parents[2])
_TRACEBACK: Final = BaseException.__dict__["__traceback__"]  # a subclass may override it


def _done(claim: Claim, task: Task[..., Any], result: Any) -> Settlement:
    urgent = task.ack == "now"
    if not task.result_ttl_ms:
        return Settlement(claim, "done", urgent=urgent)
    return Settlement(claim, "done", task.result_ttl_ms, _stored(claim, task, result), urgent)


def _stored(claim: Claim, task: Task[..., Any], result: Any) -> bytes:
    """Return a result as it is stored; or why it is not stored, because the task is done anyway."""
    if result is None:
        return b"=null"
    try:
        return b"=" + encoded(JSON, result, f"the result of task {task.name!r}")
    except BaseException as error:  # noqa: BLE001 (its objects may raise anything)
        plain = isinstance(error, TypeError | PayloadTooLarge)
        text = error_text(error, _REASON_LIMIT) if plain else described(error, _REASON_LIMIT)
        log_safely(logger, logging.WARNING, "task %s is done, but %s", claim.task_id, text)
        return b"!" + _reason("bad-result", text).encode()


def _failed(claim: Claim, task: Task[..., Any], error: BaseException) -> Settlement:
    wait_ms = task.retry.wait_ms(claim.failures + 1)
    verb: Verb = "dead" if wait_ms is None else "retry"
    reason = _reason("failed", described(error, _REASON_LIMIT))
    return Settlement(claim, verb, wait_ms or 0, reason, urgent=task.ack == "now")


def _dead(claim: Claim, kind: str, error: Exception) -> Settlement:
    return Settlement(claim, "dead", text=_reason(kind, str(error)))


def _reason(kind: str, text: str) -> str:
    """Return a reason as it is stored: short, and valid UTF-8."""
    reason = f"{kind}: {text}"[:_REASON_LIMIT].encode(errors="backslashreplace").decode()
    return reason[:_REASON_LIMIT]


def _is_awaitable(result: Any) -> bool:
    """Return whether a plain function returned an awaitable. An object that raises is not one."""
    try:
        return inspect.isawaitable(result)
    except BaseException:  # noqa: BLE001 (its class may be a property)
        return False


def _without_own_frames(error: BaseException) -> BaseException:
    """Return *error* without the frames of Holdfast, which do not help the author of the task."""
    frame: TracebackType | None = _TRACEBACK.__get__(error)
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.tb_next
    return BaseException.with_traceback(error, frame)
