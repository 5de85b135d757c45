"""Close database connections around tasks, as Django does around requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.db import close_old_connections, connections

if TYPE_CHECKING:
    from .. import RunningTask


class DatabaseConnections:
    """Middleware that closes database connections that are old or broken.

    The worker of `holdfast.django` has this middleware. If tasks of a `TaskRegistry` of your own
    use the ORM, give it to that registry: `TaskRegistry(middleware=[DatabaseConnections()])`.

    - Before and after a plain function, it closes the connections of the thread that are broken or
      older than `CONN_MAX_AGE`, as Django does around a request.
    - For an async function, the calls of the ORM run in a thread of this task's own, as Django does
      for an ASGI request. The connections of that thread are closed at the end.
    """

    def around_plain(self, _task: RunningTask, call_next: Callable[[], Any]) -> Any:
        """Run a plain task, in its thread, and close old connections before and after it."""
        close_old_connections()
        try:
            return call_next()
        finally:
            close_old_connections()

    async def around_async(
        self, _task: RunningTask, call_next: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Run an async task, and close the connections of its calls of the ORM at the end."""
        async with ThreadSensitiveContext():
            try:
                return await call_next()
            finally:
                await sync_to_async(connections.close_all)()
