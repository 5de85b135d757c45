"""Call the user's functions without blocking the event loop. Twin of `_sync/user_calls.py`."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ParamSpec, TypeAlias, TypeVar

from ..detached_thread import detached
from .background_task import spawn

Item = TypeVar("Item")
Argument = TypeVar("Argument")
P = ParamSpec("P")

UserFunction: TypeAlias = Callable[[Argument], Awaitable[Item]]
"""A function of the user with one argument: async here, plain in the blocking client."""

UserWork: TypeAlias = Callable[[], Awaitable[Item]]
"""A function of the user with its arguments bound: async here, plain in the blocking client."""

UserCall: TypeAlias = Callable[P, Awaitable[Item]]
"""A function of the user with any arguments: async here, plain in the blocking client."""


class CallbackRunner:
    """Runs callbacks of the user in the loop in which this object was created."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def run(self, function: Callable[[], object]) -> None:
        """Call *function* soon. Any thread may call this. Do nothing if the loop is closed."""
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            self._loop.call_soon_threadsafe(function)


async def in_thread(function: Callable[..., Item], *args: Any) -> Item:
    """Run a blocking *function* without blocking the loop."""
    return await asyncio.to_thread(function, *args)


async def call_with_timeout(
    seconds: float, function: Callable[..., Any], *args: Any, left: set[Any]
) -> Any:
    """Call the user's *function*, async or plain, and wait at most *seconds* for its end.

    A plain function runs in a new thread. If the wait ends before the function, because of the
    timeout or a cancellation, a coroutine is cancelled, and a thread continues.

    Args:
        seconds: the timeout in seconds.
        function: the user's function.
        args: arguments of the function.
        left: a set to which this adds an object if the function still runs after the wait; the
            object is removed when the function ends.

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
    """Mark the error of *outcome* as retrieved, because no caller waits for it any more."""
    if not outcome.cancelled():
        outcome.exception()


def can_call(function: Callable[..., Any]) -> bool:
    """Return whether `call_with_timeout` can call *function*."""
    return callable(function)


def check_half(function: Callable[..., Any], what: str) -> None:
    """Raise TypeError unless *function* is async. The error names the function *what*."""
    if not inspect.iscoroutinefunction(function):
        raise TypeError(f"{what} must be async for AsyncHoldfast; Holdfast takes plain functions")


async def call_each(
    function: Callable[[Any], Awaitable[Item]], items: Iterable[Any], most: int
) -> list[Item | Exception]:
    """Call *function* with each of *items*, at most *most* of them at the same time.

    Returns:
        For each item, what the function returned, or its exception.
    """
    limit = asyncio.Semaphore(most)

    async def call(item: Any) -> Item | Exception:
        async with limit:
            try:
                return await function(item)
            except Exception as error:  # noqa: BLE001 (the caller decides)
                return error

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call(item)) for item in items]
    return [task.result() for task in tasks]
