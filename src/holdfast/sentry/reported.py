"""Make one event of a failure, which middleware sees, and which the worker logs."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import cache
from typing import Any, Final

from sentry_sdk.scope import add_global_event_processor

from .. import RunningTask

_LIMIT: Final = 1_000
"""Attempts that are remembered."""

_MARK: Final = "holdfast_reported"
"""The attribute of records of reported attempts; a child process sends it to its worker."""

_MIDDLEWARE: Final = "middleware"
_LOG: Final = "log"


class ReportedAttempts:
    """Which attempts this process has reported, and how.

    The worker logs a dead task at the level ERROR, and the SDK makes an event of each such record.
    That is as it should be for what no middleware sees, such as wrong arguments. A failure that
    middleware has reported must not become a second event. After its timeout, the thread of a plain
    task may report it after the record was written; then the record is the event.
    """

    def __init__(self) -> None:
        # Changed only by methods that are atomic: an interrupted thread could not release a lock.
        self._by: dict[tuple[object, ...], str] = {}

    @classmethod
    @cache
    def installed(cls) -> ReportedAttempts:
        """Return those of this process, which handle its records."""
        found = cls()
        logging.getLogger("holdfast.worker").addFilter(found.mark)
        add_global_event_processor(found.process)
        return found

    def add(self, task: RunningTask) -> bool:
        """Note that middleware reports the attempt. Return False if its record was reported."""
        return self._is_first((task.queue, task.task_id, task.attempt), _MIDDLEWARE)

    def mark(self, record: logging.LogRecord) -> bool:
        """Mark the *record* of an attempt that middleware has reported. Let each record pass."""
        if self._by.get(_attempt_of(record)) == _MIDDLEWARE:
            setattr(record, _MARK, True)
        return True

    def process(self, event: Any, hint: Any) -> Any:
        """Return *event* as it is sent; None if it is made of a record that needs no event."""
        record: Any = (hint or {}).get("log_record")
        attempt = _attempt_of(record)
        if not all(attempt):
            return event
        if getattr(record, _MARK, False) or not self._is_first(attempt, _LOG):
            return None
        tags = event.setdefault("tags", {})
        tags["holdfast.task"] = record.holdfast_task
        names = ("holdfast.queue", "holdfast.task_id", "holdfast.attempt")
        tags.update(zip(names, attempt, strict=True))
        event["transaction"] = record.holdfast_task
        return event

    def _is_first(self, attempt: tuple[object, ...], by: str) -> bool:
        while len(self._by) >= _LIMIT:
            with suppress(RuntimeError, StopIteration):  # another thread removes one
                self._by.pop(next(iter(self._by)), None)
        return self._by.setdefault(attempt, by) == by


def _attempt_of(record: object) -> tuple[object, ...]:
    """Return what identifies the attempt of a record; None for each part that it does not have."""
    fields = ("holdfast_queue", "holdfast_task_id", "holdfast_attempt")
    return tuple(getattr(record, name, None) for name in fields)
