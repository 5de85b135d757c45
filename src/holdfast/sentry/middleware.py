"""Middleware that reports each attempt of a task to Sentry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import sentry_sdk

from .. import Call, RunningTask
from .attempt_scope import AttemptScope
from .publishing import published
from .reported import ReportedAttempts

R = TypeVar("R")


class SentryMiddleware:
    """Reports attempts of tasks to Sentry, after `sentry_sdk.init(…)`.

    - Each attempt has an isolation scope and a transaction of its own.
    - The exception of a task that is dead-lettered is an event; that of an attempt which is tried
      again is none. `Snooze` and `RetryAfter` are no errors while the task runs again.
    - With `tasks.on_enqueue(sentry.on_enqueue)`, the transaction continues the trace of the caller.

    Without a call of `sentry_sdk.init`, it does nothing.

    Args:
        each_attempt: whether failures of attempts that are tried again are events as well.
    """

    def __init__(self, *, each_attempt: bool = False) -> None:
        self._each_attempt: Final = each_attempt
        self._reported: Final = ReportedAttempts.installed()

    async def around_async(self, task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
        """Run around an async task."""
        if not sentry_sdk.is_initialized():
            return await call_next()
        with AttemptScope(task, self._reported, each_attempt=self._each_attempt):
            return await call_next()

    def around_plain(self, task: RunningTask, call_next: Callable[[], Any]) -> Any:
        """Run around a plain task, in its thread."""
        if not sentry_sdk.is_initialized():
            return call_next()
        with AttemptScope(task, self._reported, each_attempt=self._each_attempt):
            return call_next()

    def on_enqueue(self, call: Call[R]) -> Call[R]:
        """Add the current trace to the headers of *call*; pass it to `TaskRegistry.on_enqueue`."""
        return published(call) if sentry_sdk.is_initialized() else call
