"""Make only one event of a failure that both the middleware reports and the worker logs."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import cache
from typing import Any, Final

from sentry_sdk.scope import add_global_event_processor

from .. import RunningTask
from ..errors.one_line_logger import logger_of

_log: Final = logger_of("holdfast.sentry")

_LIMIT: Final = 1_000
"""Attempts that are remembered at most."""

_MARK: Final = "holdfast_reported"
"""Attribute of the log records of attempts that the middleware has reported. A child process of a
worker sends it to the worker together with the record."""

_MIDDLEWARE: Final = "middleware"
_LOG: Final = "log"


class ReportedAttempts:
    """Remembers which attempts this process has reported: by the middleware or by a log record.

    The worker logs a dead task at the level ERROR, and the Sentry SDK makes an event of each such
    record. Failures that the middleware does not see, such as wrong arguments, are reported only in
    this way. A failure that the middleware has reported must not become a second event. The thread
    of a plain task that ran into its timeout may end after the worker has logged the failure. Then
    the record is the event, and the middleware reports nothing.
    """

    def __init__(self) -> None:
        # Changed only by atomic methods, without a lock: a thread that is interrupted while it has
        # the lock might not release it.
        self._by: dict[tuple[object, ...], str] = {}
        self._has_failed = False

    @classmethod
    @cache
    def installed(cls) -> ReportedAttempts:
        """Return the instance of this process. Register it with the log and the SDK once."""
        found = cls()
        logging.getLogger("holdfast.worker").addFilter(found.mark)
        add_global_event_processor(found.process)
        return found

    def add(self, task: RunningTask) -> bool:
        """Record that the middleware reports the attempt; return False if a log record has."""
        return self._is_first((task.queue, task.task_id, task.attempt), _MIDDLEWARE)

    def mark(self, record: logging.LogRecord) -> bool:
        """Mark the *record* of an attempt that middleware has reported. Let each record pass.

        Then forget the attempt: after a replay, the task has attempts with the same numbers.
        """
        attempt = _attempt_of(record)
        if self._by.get(attempt) == _MIDDLEWARE:
            self._by.pop(attempt, None)
            setattr(record, _MARK, True)
        return True

    def process(self, event: Any, hint: Any) -> Any:
        """Return *event* to send it, or None if the middleware has reported the attempt already."""
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

    def log_failure(self, error: Exception) -> None:
        """Log an exception of the SDK on one line, if it is the first one of this process."""
        if not self._has_failed:
            self._has_failed = True
            _log.warning(
                "the Sentry SDK raised an exception: reports are lost; its further exceptions are "
                "not logged: %s: %s",
                type(error).__name__,
                error,
            )

    def _is_first(self, attempt: tuple[object, ...], by: str) -> bool:
        while len(self._by) >= _LIMIT:
            with suppress(RuntimeError, StopIteration):  # another thread has changed the dict
                self._by.pop(next(iter(self._by)), None)
        return self._by.setdefault(attempt, by) == by


def _attempt_of(record: object) -> tuple[object, ...]:
    """Return what identifies the attempt of a record; None for each part that it does not have."""
    fields = ("holdfast_queue", "holdfast_task_id", "holdfast_attempt")
    return tuple(getattr(record, name, None) for name in fields)
