"""A part of the start of a worker that may take long, such as its lifespan: a stop cancels it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...core.concurrency._async.cancellation import CancelScope


class CancellableStart:
    """Runs one part of the start of a worker."""

    def __init__(self) -> None:
        self._scope: CancelScope | None = None
        self._cancelled = False

    def cancel(self) -> None:
        """Cancel the part, even before it begins. From any thread or signal handler."""
        # No cancellation is missed, because `run` sets `_scope` before it reads `_cancelled`.
        self._cancelled = True
        if (scope := self._scope) is not None:
            scope.cancel()

    async def run(self, work: Callable[[], Awaitable[None]]) -> bool:
        """Run *work*. Return False if the part was cancelled; raise what *work* raises."""
        scope, raised = CancelScope(), None
        self._scope = scope
        try:
            if not self._cancelled:
                await work()
        except BaseException as error:  # noqa: BLE001 (it is raised below)
            raised = error
        self._scope = None
        if scope.end(raised):
            return False
        if raised is not None:
            raise raised
        return not self._cancelled
