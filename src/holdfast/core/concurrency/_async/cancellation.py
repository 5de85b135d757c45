"""What cancels tasks, and what goes on in spite of it. Twin of `_sync/cancellation.py`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .background_task import spawn

Item = TypeVar("Item")

Cancelled = asyncio.CancelledError

_shielded: set[asyncio.Task[Any]] = set()


def time_limit(seconds: float) -> asyncio.Timeout:
    """Return a context that ends its body with TimeoutError after *seconds*."""
    return asyncio.timeout(seconds)


class CancelScope:
    """Cancels the current task from outside, between the construction of the scope and `end`."""

    __slots__ = ("_before", "_cancelled", "_ended", "_loop", "_task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only what a task does can be cancelled")
        self._loop = task.get_loop()  # on Python 3.11 `get_running_loop` is a system call
        self._task = task
        self._before = task.cancelling()
        self._cancelled = False
        self._ended = False

    def cancel(self) -> None:
        """Cancel the task, if the scope has not ended. From any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._cancel)

    def end(self, error: BaseException | None) -> bool:
        """End the scope, which the task leaves with *error* (None: without an error).

        Returns:
            Whether this scope cancelled the task, and nothing else did.
        """
        self._ended = True
        if not self._cancelled:
            return False
        # As `asyncio.timeout` does: other code may have cancelled the task as well.
        others = self._task.uncancel() > self._before
        return isinstance(error, asyncio.CancelledError) and not others

    def _cancel(self) -> None:
        if not self._ended and not self._cancelled:
            self._cancelled = True
            self._task.cancel()


async def shielded(work: Coroutine[Any, Any, Item]) -> Item:
    """Run *work* to its end, also when the caller is cancelled while it waits."""
    task = spawn(work, "holdfast clean-up")
    _shielded.add(task)
    task.add_done_callback(_shielded.discard)
    return await asyncio.shield(task)


async def run_shielded(function: Callable[..., Coroutine[Any, Any, Item]], *args: Any) -> Item:
    """Run *function* to its end, also when the caller is cancelled here."""
    return await shielded(function(*args))


async def run_to_completion(work: Callable[[], Coroutine[Any, Any, Item]]) -> Item:
    """Run *work*, and return or raise only after its end, also when the caller is cancelled."""
    task, cancelled = spawn(work(), "holdfast end"), False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and not task.cancelled():
        task.exception()  # mark it as retrieved: the caller gets the cancellation instead
        raise asyncio.CancelledError
    return task.result()


def run_in_background(function: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Run *function* soon in the current loop. Do nothing if there is no loop."""
    with contextlib.suppress(RuntimeError):
        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: spawn(shielded(function()), "holdfast clean-up"))
