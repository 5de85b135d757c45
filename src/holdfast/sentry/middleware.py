"""Define the middleware that reports each attempt of a task to Sentry."""

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
    - The exception of a task that is dead-lettered becomes an event. The exception of an attempt
      that is tried again does not. `Snooze` and `RetryAfter` are not reported while the task runs
      again.
    - With `tasks.on_enqueue(sentry.on_enqueue)`, the transaction continues the trace of the caller.

    Without a call of `sentry_sdk.init`, it does nothing.

    Args:
        each_attempt: whether failures of attempts that are tried again are events as well.
    """

    def __init__(self, *, each_attempt: bool = False) -> None:
        self._each_attempt: Final = each_attempt
        self._reported: Final = ReportedAttempts.installed()

    async def around_async(self, task: RunningTask, call_next: Callable[[], Awaitable[Any]]) -> Any:
        """Run an async task, and report the attempt."""
        if not sentry_sdk.is_initialized():
            return await call_next()
        with AttemptScope(task, self._reported, each_attempt=self._each_attempt):
            return await call_next()

    def around_plain(self, task: RunningTask, call_next: Callable[[], Any]) -> Any:
        """Run a plain task, in its thread, and report the attempt."""
        if not sentry_sdk.is_initialized():
            return call_next()
        with AttemptScope(task, self._reported, each_attempt=self._each_attempt):
            return call_next()

    def on_enqueue(self, call: Call[R]) -> Call[R]:
        """Add the current trace to the headers of *call*; pass it to `TaskRegistry.on_enqueue`."""
        return published(call) if sentry_sdk.is_initialized() else call
