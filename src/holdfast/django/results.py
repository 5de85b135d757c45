"""Build the result of a task for Django from the data on the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.tasks import Task, TaskResult, TaskResultStatus
from django.tasks.base import TaskError
from django.tasks.exceptions import TaskResultDoesNotExist

from .. import Gap, Holdfast, TaskEvent, TaskFailed, TaskStatus
from .attempt import EVENT, FAILED, STARTED
from .found_tasks import import_tasks, task_at
from .stored_task import ResultId, TaskFacts, as_configured

STATES: Final[Mapping[str, Any]] = {
    "queued": TaskResultStatus.READY,
    "delayed": TaskResultStatus.READY,
    "running": TaskResultStatus.RUNNING,
    "done": TaskResultStatus.SUCCESSFUL,
    "dead": TaskResultStatus.FAILED,
    "cancelled": TaskResultStatus.FAILED,
}

WITHOUT_EXCEPTION: Final = "holdfast.TaskFailed"
"""Class in the error of a task that failed without an exception, such as after its worker died."""


def read_result(
    client: Holdfast, result_id: str, *, alias: str, modules: Sequence[str]
) -> TaskResult:
    """Return the result with this id.

    Args:
        client: the client of the backend.
        result_id: the id of the result.
        alias: name of the backend.
        modules: modules with tasks, besides those of the installed applications.

    Raises:
        TaskResultDoesNotExist: the server does not have the task, or has dropped its result.
    """
    where = ResultId.parsed(result_id)
    try:
        handle = client.queue(where.queue).handle(where.task_id)
    except ValueError as error:
        raise TaskResultDoesNotExist(result_id) from error
    status = handle.status()
    if status.state == "unknown":
        raise TaskResultDoesNotExist(result_id)
    history = History.of(handle.events(timeout=0)) if status.attempts else History({}, [], None)
    payload: Any = None
    if status.state == "done" and not status.reason:
        try:
            payload = handle.result(timeout=0)
        except TaskFailed as error:  # the result has expired meanwhile
            raise TaskResultDoesNotExist(result_id) from error
    stored: Mapping[str, Any] = payload if isinstance(payload, Mapping) else {}
    facts = _facts(status, history, stored)
    task = _task(facts.path, modules) if facts else None
    if facts is None or task is None:
        raise TaskResultDoesNotExist(result_id)
    task = facts.configured(task, where.queue, alias)
    return _result(task, facts, where, status, history, stored)


@dataclass(frozen=True, slots=True)
class History:
    """Holds the events that the attempts of a task reported.

    Attributes:
        started: attempt → the event at its start.
        failed: the events of exceptions, in order.
        facts: how the task was enqueued; None if no event contains this.
    """

    started: Mapping[int, TaskEvent]
    failed: Sequence[TaskEvent]
    facts: TaskFacts | None

    @classmethod
    def of(cls, events: Any) -> History:
        """Return the history in all *events* of a task. Skip events that the task itself
        reported."""
        own = [each for each in events if not isinstance(each, Gap) and _kind(each)]
        started: dict[int, TaskEvent] = {}
        for event in own:
            if _kind(event) == STARTED:
                started.setdefault(event.attempt, event)
        parsed = [TaskFacts.parsed(event.data.get("task")) for event in started.values()]
        facts = next((each for each in parsed if each is not None), None)
        return cls(started, [event for event in own if _kind(event) == FAILED], facts)

    def errors(self, status: TaskStatus) -> list[TaskError]:
        """Return the errors of the attempts.

        Add the reason of the task if it failed but its last attempt has reported no exception, or
        if its return value could not be stored.
        """
        errors = [
            TaskError(
                exception_class_path=str(event.data.get("exception")),
                traceback=str(event.data.get("traceback")),
            )
            for event in self.failed
        ]
        explained = bool(self.failed) and self.failed[-1].attempt >= status.attempts
        if status.state in ("dead", "cancelled") and not explained:
            reason = status.reason or "the task was cancelled"
            errors.append(TaskError(exception_class_path=WITHOUT_EXCEPTION, traceback=reason))
        elif status.state == "done" and status.reason:
            errors.append(
                TaskError(exception_class_path=WITHOUT_EXCEPTION, traceback=status.reason)
            )
        return errors

    def workers(self, attempts: int) -> list[str]:
        """Return the worker of each attempt; empty if it is not known."""
        numbers = range(1, attempts + 1)
        return [
            str(self.started[number].data.get("worker")) if number in self.started else ""
            for number in numbers
        ]


def _kind(event: TaskEvent) -> str:
    """Return `STARTED` or `FAILED` if the Django backend reported *event*; otherwise ''.

    Other events come from the code of the task.
    """
    data = event.data
    found = data.get(EVENT) if event.kind == "event" and isinstance(data, Mapping) else ""
    return found if found in (STARTED, FAILED) else ""


def _result(
    task: Task,
    facts: TaskFacts,
    where: ResultId,
    status: TaskStatus,
    history: History,
    stored: Mapping[str, Any],
) -> TaskResult:
    status_now = STATES[status.state]
    if status.state == "done" and (status.reason or EVENT not in stored):
        status_now = TaskResultStatus.FAILED  # its return value could not be stored
    times = [history.started[number].at for number in sorted(history.started)]
    result = TaskResult(
        task=task,
        id=str(where),
        status=status_now,
        enqueued_at=facts.enqueued_at,
        started_at=as_configured(times[0]) if times else None,
        last_attempted_at=as_configured(times[-1]) if times else None,
        finished_at=as_configured(status.ended_at),
        args=list(stored.get("args", status.args)),
        kwargs=dict(stored.get("kwargs", status.kwargs)),
        backend=task.backend,
        errors=history.errors(status),
        worker_ids=history.workers(status.attempts),
    )
    object.__setattr__(result, "_return_value", stored.get("return_value"))
    return result


def _facts(status: TaskStatus, history: History, stored: Mapping[str, Any]) -> TaskFacts | None:
    if status.task:
        enqueued_at = status.enqueued_at
        enqueued_ms = round(enqueued_at.timestamp() * 1000) if enqueued_at else 0
        return TaskFacts.enqueued(status.task, status.headers, enqueued_ms)
    return TaskFacts.parsed(stored.get(EVENT)) or history.facts


def _task(path: str, modules: Sequence[str]) -> Task | None:
    """Return the task at *path*, or None. Import all modules with tasks if that is needed."""
    found = task_at(path)
    if found is None:
        import_tasks(modules)
        found = task_at(path)
    return found
