"""Database connections around tasks, as Django handles them around requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import close_old_connections, connections

if TYPE_CHECKING:
    from .. import RunningTask


class DatabaseConnections:
    """A middleware that closes database connections that are old or broken.

    The worker of `holdfast.django` has it. Give it to a `TaskRegistry` of your own that uses the
    ORM: `TaskRegistry(middleware=[DatabaseConnections()])`.

    - Around a plain function it does, in the thread of the task, what Django does around a request:
      it closes connections that are broken or older than `CONN_MAX_AGE`.
    - Around an async function it does what Django does around an ASGI request: the calls of the ORM
      run in a thread of this task's own. Their connections are closed at the end.
    """

    def around_plain(self, _task: RunningTask, call_next: Callable[[], Any]) -> Any:
        """Run around a plain task, in its thread."""
        close_old_connections()
        try:
            return call_next()
        finally:
            close_old_connections()

    async def around_async(
        self, _task: RunningTask, call_next: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Run around an async task."""
        async with ThreadSensitiveContext():
            try:
                return await call_next()
            finally:
                await sync_to_async(connections.close_all)()
