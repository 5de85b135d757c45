"""Run one attempt of a task of Django in a worker, and report its start and its failure."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import iscoroutinefunction
from traceback import format_exception
from typing import Any, Final

from django.tasks import Task, TaskContext, TaskResult, TaskResultStatus
from django.tasks.base import TaskError
from django.tasks.signals import task_finished, task_started
from django.utils.json import normalize_json

from .. import GiveUp, RunningTask, Snooze, current_task
from .stored_task import ResultId, TaskFacts, as_configured

STARTED: Final = "started"
FAILED: Final = "failed"
EVENT: Final = "django_task"
"""The key of the events that an attempt reports; its value is `STARTED` or `FAILED`."""

TRACEBACK_CHARACTERS: Final = 10_000
"""Maximum characters of a traceback in an event. The beginning of a longer one is cut off."""

WORKER: Final = "django_worker"
"""Key under which the lifespan of the worker stores the name of the worker."""


def function_of(task: Task, alias: str, sender: type) -> Callable[..., Any]:
    """Return the function that a worker runs for *task*: an async one if the task is async.

    Args:
        task: the task.
        alias: name of the backend.
        sender: class of the backend; Django's signals about the task have it as their sender.
    """
    if iscoroutinefunction(task.func):

        async def run_async(*args: Any, **kwargs: Any) -> Any:
            attempt = TaskAttempt.of(task, alias, sender)
            await task_started.asend_robust(**attempt.signal())
            try:
                value = await task.func(*attempt.context, *args, **kwargs)
                stored = attempt.succeeded(value)
            except Exception as error:
                attempt.failed(error)
                await task_finished.asend_robust(**attempt.signal())
                raise
            await task_finished.asend_robust(**attempt.signal())
            return stored

        return run_async

    def run(*args: Any, **kwargs: Any) -> Any:
        attempt = TaskAttempt.of(task, alias, sender)
        task_started.send_robust(**attempt.signal())
        try:
            value = task.func(*attempt.context, *args, **kwargs)
            stored = attempt.succeeded(value)
        except Exception as error:
            attempt.failed(error)
            task_finished.send_robust(**attempt.signal())
            raise
        task_finished.send_robust(**attempt.signal())
        return stored

    return run


@dataclass(frozen=True, slots=True)
class TaskAttempt:
    """Holds an attempt that runs in this process.

    Attributes:
        running: the task in Holdfast.
        facts: how the task was enqueued.
        result: the result that receivers of signals and the context of the task get. In its
            `worker_ids`, the names of the workers of earlier attempts are empty.
        sender: the class of the backend; the signals have it as their sender.
    """

    running: RunningTask
    facts: TaskFacts
    result: TaskResult
    sender: type

    @classmethod
    def of(cls, task: Task, alias: str, sender: type) -> TaskAttempt:
        """Return the attempt that begins now, and report its start as an event of the task."""
        running = current_task()
        facts = TaskFacts.enqueued(task.module_path, running.headers, running.enqueued_ms)
        worker = str(running.state.get(WORKER, ""))
        running.emit({EVENT: STARTED, "worker": worker, "task": facts.stored()})
        now = as_configured(datetime.now(UTC))
        result = TaskResult(
            task=facts.configured(task, running.queue, alias),
            id=str(ResultId(running.queue, running.task_id)),
            status=TaskResultStatus.RUNNING,
            enqueued_at=facts.enqueued_at,
            started_at=now if running.attempt == 1 else None,
            last_attempted_at=now,
            finished_at=None,
            args=list(running.args),
            kwargs=dict(running.kwargs),
            backend=alias,
            errors=[],
            worker_ids=[*[""] * (running.attempt - 1), worker],
        )
        return cls(running, facts, result, sender)

    @property
    def context(self) -> tuple[TaskContext, ...]:
        """Return the first arguments of the function: the context, if the task takes it."""
        if not self.result.task.takes_context:
            return ()
        return (TaskContext(task_result=self.result),)

    def signal(self) -> dict[str, Any]:
        """Return the arguments of a signal."""
        return {"sender": self.sender, "task_result": self.result}

    def succeeded(self, value: Any) -> dict[str, Any]:
        """Return what is stored as the result of the task in Holdfast.

        Raises:
            GiveUp: JSON cannot store *value*. Another attempt would not help.
        """
        try:
            value = normalize_json(value)
        except (TypeError, ValueError) as error:
            raise GiveUp(f"the return value is no JSON: {error}") from error
        self._set(status=TaskResultStatus.SUCCESSFUL, _return_value=value)
        return {
            EVENT: self.facts.stored(),
            "args": self.result.args,
            "kwargs": self.result.kwargs,
            "return_value": value,
        }

    def failed(self, error: Exception) -> None:
        """Report *error* as an event of the task. Do not report a `Snooze`, which is no failure."""
        if isinstance(error, Snooze):
            self._set(status=TaskResultStatus.READY)
            return
        cause = error.__cause__ if isinstance(error, GiveUp) and error.__cause__ else error
        kind = type(cause)
        path = f"{kind.__module__}.{kind.__qualname__}"
        text = "".join(format_exception(cause))[-TRACEBACK_CHARACTERS:]
        text = text.encode(errors="backslashreplace").decode()[-TRACEBACK_CHARACTERS:]
        self.result.errors.append(TaskError(exception_class_path=path, traceback=text))
        self._set(status=TaskResultStatus.FAILED)
        with contextlib.suppress(RuntimeError):  # raised if the attempt has timed out
            self.running.emit({EVENT: FAILED, "exception": path, "traceback": text})

    def _set(self, **changes: Any) -> None:
        """Change attributes of the frozen result in the way of the backends of Django."""
        changes["finished_at"] = as_configured(datetime.now(UTC))
        for name, value in changes.items():
            object.__setattr__(self.result, name, value)
