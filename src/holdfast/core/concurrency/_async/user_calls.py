"""Calls of the user's functions, beside the event loop. Twin of `_sync/user_calls.py`."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..detached_thread import detached
from .background_task import spawn

Item = TypeVar("Item")


class CallbackRunner:
    """Runs callbacks of the user in the loop that made this."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def run(self, function: Callable[[], object]) -> None:
        """Call *function* soon. From any thread. Do nothing if the loop is closed."""
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function)


async def in_thread(function: Callable[..., Item], *args: Any) -> Item:
    """Run a blocking *function* without blocking the loop."""
    return await asyncio.to_thread(function, *args)


async def call_with_timeout(
    seconds: float, function: Callable[..., Any], *args: Any, left: set[Any]
) -> Any:
    """Call the user's *function*, async or plain, and limit the wait for its end.

    A plain function runs in a thread of its own. After the timeout, or when the caller is
    cancelled, a thread runs on and a coroutine is cancelled. The caller does not wait for either.

    Args:
        seconds: the timeout.
        function: the user's function.
        args: its arguments.
        left: gets one entry for each call that still runs after that, until it ends.

    Raises:
        TimeoutError: the function takes longer.
    """
    outcome: asyncio.Future[Any]
    if inspect.iscoroutinefunction(function):
        work: Any = spawn(function(*args), "holdfast load")
        outcome = work
    else:
        work = detached(function, *args)
        outcome = asyncio.wrap_future(work)
    try:
        await asyncio.wait([outcome], timeout=seconds)
        if not outcome.done():
            raise TimeoutError
        return outcome.result()
    finally:
        if not outcome.done():
            left.add(work)
            work.add_done_callback(left.discard)
            outcome.add_done_callback(_retrieve)
            outcome.cancel()


def _retrieve(outcome: asyncio.Future[Any]) -> None:
    """Mark the error of *outcome* as retrieved: no caller waits for it any more."""
    if not outcome.cancelled():
        outcome.exception()


def can_call(function: Callable[..., Any]) -> bool:
    """Return whether `call_with_timeout` can call *function*, in this half of the library."""
    return callable(function)
