"""Report one attempt of a task to Sentry."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from time import time
from types import TracebackType
from typing import Any, Final

import sentry_sdk
from sentry_sdk import traces
from sentry_sdk.scope import Scope, should_send_default_pii
from sentry_sdk.utils import event_from_exception

from .. import RetryAfter, RunningTask
from .publishing import ORIGIN, TRACE_HEADERS, is_streaming
from .reported import ReportedAttempts

_OP: Final = "queue.process"

_STATUS: Final = {
    "retry": "internal_error",
    "snooze": "aborted",
    "suspend": "ok",
    "give_up": "internal_error",
    "dead": "internal_error",
    "release": "cancelled",
}
"""Outcome of an attempt that raised an exception → status of its transaction."""


class AttemptScope:
    """Gives one attempt an isolation scope and a transaction, and reports its failure as an event.

    Args:
        task: the running task.
        reported: remembers the reported attempts, so that each failure is only one event.
        each_attempt: whether failures of attempts that are tried again are reported.
    """

    __slots__ = ("_each_attempt", "_ending", "_reported", "_span", "_task")

    def __init__(
        self, task: RunningTask, reported: ReportedAttempts, *, each_attempt: bool
    ) -> None:
        self._task = task
        self._reported = reported
        self._each_attempt = each_attempt
        self._ending = ExitStack()
        self._span: Any = None

    def __enter__(self) -> None:
        scope = self._ending.enter_context(sentry_sdk.isolation_scope())
        _describe(scope, self._task)
        self._span = self._ending.enter_context(_started(self._task))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._end(error)
        except Exception as problem:  # noqa: BLE001 (a transport of the user may raise)
            # Otherwise it would replace the exception of the task, so that a task that gave up
            # would run again.
            self._reported.log_failure(problem)

    def _end(self, error: BaseException | None) -> None:
        try:
            if error is not None:
                self._failed(error)
            elif not is_streaming():
                self._span.set_status("ok")
        finally:
            self._ending.close()

    def _failed(self, error: BaseException) -> None:
        """Set the status of the transaction, and report *error* if it is a failure."""
        task, outcome = self._task, self._task.outcome_of(error)
        status = _STATUS[outcome]
        if is_streaming():
            self._span.status = "error" if status == "internal_error" else "ok"
        else:
            self._span.set_status(status)
        self._span_data("holdfast.outcome", outcome)
        is_end = outcome in ("give_up", "dead")
        is_failure = outcome == "retry" and not isinstance(error, RetryAfter)
        if not is_end and not (is_failure and self._each_attempt):
            return
        if not self._reported.add(task):
            return
        event, hint = event_from_exception(
            _late(task, error) if task.is_late else error,
            client_options=sentry_sdk.get_client().options,
            mechanism={"type": "holdfast", "handled": False},
        )
        sentry_sdk.capture_event(event, hint=hint)

    def _span_data(self, name: str, value: str) -> None:
        set_value = self._span.set_attribute if is_streaming() else self._span.set_data
        set_value(name, value)


def _started(task: RunningTask) -> AbstractContextManager[Any]:
    """Return the transaction of an attempt, which continues the trace in the headers."""
    headers = {name: task.headers[name] for name in TRACE_HEADERS if name in task.headers}
    data: dict[str, Any] = {
        "messaging.system": "holdfast",
        "messaging.destination.name": task.queue,
        "messaging.message.id": task.task_id,
        "messaging.message.retry.count": task.attempt - 1,
    }
    if task.enqueued_ms:
        waited_ms = time() * 1000 - task.enqueued_ms
        data["messaging.message.receive.latency"] = max(0.0, waited_ms)
    if is_streaming():
        traces.continue_trace(headers)
        kind = {"sentry.op": _OP, "sentry.origin": ORIGIN, "sentry.segment.name.source": "task"}
        return traces.start_span(task.task, {**kind, **data}, parent_span=None)
    transaction = sentry_sdk.continue_trace(
        headers, op=_OP, name=task.task, source="task", origin=ORIGIN
    )
    for name, value in data.items():
        transaction.set_data(name, value)
    facts = {"task": task.task, "queue": task.queue, "attempt": task.attempt}
    return sentry_sdk.start_transaction(transaction, custom_sampling_context={"holdfast": facts})


def _describe(scope: Scope, task: RunningTask) -> None:
    """Set the transaction name, tags and context of *scope* to those of *task*."""
    scope.clear_breadcrumbs()
    scope.set_transaction_name(task.task, source="task")
    scope.set_tags(
        {
            "holdfast.task": task.task,
            "holdfast.queue": task.queue,
            "holdfast.task_id": task.task_id,
            "holdfast.attempt": task.attempt,
        }
    )
    facts: dict[str, Any] = {
        "task": task.task,
        "task_id": task.task_id,
        "queue": task.queue,
        "attempt": task.attempt,
        "attempts": task.attempts,
        "snoozes": task.snoozes,
    }
    if task.enqueued_at is not None:
        facts["enqueued_at"] = task.enqueued_at.isoformat()
    if task.group_id:
        facts["group_id"] = task.group_id
    if should_send_default_pii():
        facts |= {"args": task.args, "kwargs": dict(task.kwargs)}
    scope.set_context("holdfast", facts)


def _late(task: RunningTask, error: BaseException) -> TimeoutError:
    """Return the failure of an attempt that took too long, at the line where *error* ended it."""
    late = TimeoutError(f"it took longer than its timeout, {task.timeout_s:g} s")
    late.__suppress_context__ = True
    return late.with_traceback(error.__traceback__)
