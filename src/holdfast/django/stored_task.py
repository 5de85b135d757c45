"""Store how a task of Django was enqueued, besides its arguments, and define the ids of results."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, Self

from django.conf import settings
from django.tasks import Task
from django.tasks.exceptions import TaskResultDoesNotExist
from django.utils import timezone

PRIORITY_HEADER: Final = "django-priority"
RUN_AFTER_HEADER: Final = "django-run-after"

MAX_QUEUE_CHARACTERS: Final = 30
"""Characters of a queue name at most. The id of a result contains the name, and Django promises
that this id has fewer than 64 characters."""


@dataclass(frozen=True, slots=True)
class ResultId:
    """Represents the id of a result: `queue:task_id`. Holdfast needs both to find a task.

    Attributes:
        queue: the name of the queue.
        task_id: the id of the task in Holdfast.
    """

    queue: str
    task_id: str

    def __str__(self) -> str:
        return f"{self.queue}:{self.task_id}"

    @classmethod
    def new(cls, queue: str) -> Self:
        """Return the id for a new task of *queue*."""
        return cls(queue, secrets.token_hex(16))

    @classmethod
    def parsed(cls, result_id: str) -> Self:
        """Return the parts of *result_id*.

        Raises:
            TaskResultDoesNotExist: *result_id* is not the id of a result.
        """
        queue, colon, task_id = str(result_id).rpartition(":")
        if not colon or not queue or not task_id:
            raise TaskResultDoesNotExist(result_id)
        return cls(queue, task_id)


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """Holds how a task was enqueued.

    The events and the result of the task contain these facts, because the server drops the task
    itself when it is done.

    Attributes:
        path: module path of the task.
        priority: priority in Django, -100 to 100.
        run_after: the earliest time; None: at once.
        enqueued_ms: when it was enqueued, in ms since 1970; 0: not known.
    """

    path: str
    priority: int = 0
    run_after: datetime | None = None
    enqueued_ms: int = 0

    @classmethod
    def enqueued(cls, path: str, headers: Mapping[str, str], enqueued_ms: int) -> Self:
        """Return the facts of a task that is still stored, from its *path* and its *headers*."""
        stored = {
            "path": path,
            "priority": headers.get(PRIORITY_HEADER, "0"),
            "run_after": headers.get(RUN_AFTER_HEADER),
            "enqueued_ms": enqueued_ms,
        }
        return cls.parsed(stored) or cls(path, enqueued_ms=enqueued_ms)

    @classmethod
    def parsed(cls, stored: object) -> Self | None:
        """Return the facts in *stored*; None if another program has changed it."""
        if not isinstance(stored, Mapping):
            return None
        try:
            run_after = stored["run_after"]
            return cls(
                str(stored["path"]),
                int(stored["priority"]),
                None if run_after is None else datetime.fromisoformat(run_after),
                int(stored["enqueued_ms"]),
            )
        except (KeyError, TypeError, ValueError):
            return None

    def stored(self) -> dict[str, Any]:
        """Return the facts as a dict of JSON values."""
        return {
            "path": self.path,
            "priority": self.priority,
            "run_after": None if self.run_after is None else self.run_after.isoformat(),
            "enqueued_ms": self.enqueued_ms,
        }

    @property
    def enqueued_at(self) -> datetime | None:
        """Return when the task was enqueued; None if that is not known."""
        if self.enqueued_ms <= 0:
            return None
        return as_configured(datetime.fromtimestamp(self.enqueued_ms / 1000, UTC))

    def configured(self, task: Task, queue: str, alias: str) -> Task:
        """Return *task* with the options with which it was enqueued."""
        return task.using(
            priority=self.priority, queue_name=queue, run_after=self.run_after, backend=alias
        )


def headers_of(task: Task) -> dict[str, str]:
    """Return headers with the priority and the `run_after` of *task*.

    The options of a call do not store them exactly: Holdfast has three priorities.
    """
    headers = {}
    if task.priority:
        headers[PRIORITY_HEADER] = str(task.priority)
    if task.run_after is not None:
        headers[RUN_AFTER_HEADER] = task.run_after.isoformat()
    return headers


def level_of(priority: int) -> Literal["high", "medium", "low"]:
    """Return the priority in Holdfast for *priority*, the priority in Django."""
    if priority == 0:
        return "medium"
    return "high" if priority > 0 else "low"


def as_configured(instant: datetime | None) -> datetime | None:
    """Return *instant* as the setting `USE_TZ` requires: aware, or naive in the local time zone."""
    if instant is None or settings.USE_TZ:
        return instant
    return timezone.make_naive(instant)
