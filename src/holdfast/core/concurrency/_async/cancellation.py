"""Cancel tasks, and run work in spite of a cancellation. Twin of `_sync/cancellation.py`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .background_task import spawn

Item = TypeVar("Item")

Cancelled = asyncio.CancelledError

TimeLimit = asyncio.Timeout

_shielded: set[asyncio.Task[Any]] = set()


def time_limit(seconds: float) -> asyncio.Timeout:
    """Return a context manager that raises TimeoutError in its body after *seconds*."""
    return asyncio.timeout(seconds)


class CancelScope:
    """Lets other code cancel the current task until `end` is called."""

    __slots__ = ("_before", "_cancelled", "_ended", "_loop", "_task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a scope needs a task: call this in a coroutine that a task runs")
        self._loop = task.get_loop()  # `get_running_loop` makes a system call on Python 3.11.
        self._task = task
        self._before = task.cancelling()
        self._cancelled = False
        self._ended = False

    def cancel(self) -> None:
        """Cancel the task, unless the scope has ended. Any thread may call this."""
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            self._loop.call_soon_threadsafe(self._cancel)

    def end(self, error: BaseException | None) -> bool:
        """End the scope.

        Args:
            error: the exception with which the task leaves the scope; None: no exception.

        Returns:
            Whether *error* is a cancellation by this scope, and no other code cancelled the task.
        """
        self._ended = True
        if not self._cancelled:
            return False
        # Other code may have cancelled the task as well. `asyncio.timeout` does the same check.
        others = self._task.uncancel() > self._before
        return isinstance(error, asyncio.CancelledError) and not others

    def _cancel(self) -> None:
        if not self._ended and not self._cancelled:
            self._cancelled = True
            self._task.cancel()


async def shielded(work: Coroutine[Any, Any, Item]) -> Item:
    """Wait for *work*. If the caller is cancelled, stop waiting; the work runs to its end."""
    task = spawn(work, "holdfast clean-up")
    _shielded.add(task)
    task.add_done_callback(_shielded.discard)
    return await asyncio.shield(task)


async def run_shielded(function: Callable[..., Coroutine[Any, Any, Item]], *args: Any) -> Item:
    """Call *function* and wait for it. If the caller is cancelled, the function runs to its end."""
    return await shielded(function(*args))


async def run_to_completion(work: Callable[[], Coroutine[Any, Any, Item]]) -> Item:
    """Run *work* and wait for its end, even if the caller is cancelled meanwhile.

    In that case, raise CancelledError after the end of the work.
    """
    task, cancelled = spawn(work(), "holdfast end"), False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and not task.cancelled():
        task.exception()  # Mark the error as retrieved, because the caller gets CancelledError.
        raise asyncio.CancelledError
    return task.result()


def run_in_background(function: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Run *function* soon in the current loop, without waiting. Do nothing if no loop runs."""
    with contextlib.suppress(RuntimeError):
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: spawn(shielded(function()), "holdfast clean-up"))
