"""Run work in tasks, concurrently with the caller. Hand-written twin of
`_sync/background_task.py`."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ..event_loop import new_loop

Item = TypeVar("Item")

RunningTask = asyncio.Task

LEFTOVER_S = 1.0
"""Seconds that `run_loop` waits at its end for tasks that ignore their cancellation."""


def spawn(work: Coroutine[Any, Any, Item], name: str) -> asyncio.Task[Item]:
    """Start *work* in a task. Keep the task, because the loop has only a weak reference to it."""
    return asyncio.get_running_loop().create_task(work, name=name)


class BackgroundTask(Generic[Item]):
    """Work that runs in a task. The caller waits for its outcome later."""

    def __init__(self, work: Callable[..., Coroutine[Any, Any, Item]], *args: Any) -> None:
        self._task = spawn(work(*args), "holdfast background")

    async def outcome(self) -> Item:
        """Wait for the end of the work. Return what it returns, or raise what it raises."""
        return await self._task

    async def end(self) -> None:
        """Cancel the work and wait for its end. Ignore its outcome."""
        await cancel_and_wait(self._task)


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel *tasks* and wait until they have ended. Ignore their outcomes."""
    left = set(tasks)
    while left:  # Repeat, because on Python 3.11 `asyncio.wait_for` may swallow a cancellation.
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=0.05)


async def wait_ended(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> None:
    """Wait until *tasks* have ended, but at most *seconds*."""
    if left := set(tasks):
        await asyncio.wait(left, timeout=seconds)


async def run_concurrently(*work: Coroutine[Any, Any, Any]) -> None:
    """Run all of *work* concurrently. If one fails, cancel the others and raise its exception.

    Work that is cancelled by other code has failed as well.
    """
    tasks = [asyncio.ensure_future(part) for part in work]
    left, failed = set(tasks), list[asyncio.Task[Any]]()
    try:
        while left and not failed:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            failed = [task for task in done if task.cancelled() or task.exception() is not None]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in failed:
        task.result()


def current_task() -> asyncio.Task[Any] | None:
    """Return the current task."""
    return asyncio.current_task()


def is_current_task(task: asyncio.Task[Any] | None) -> bool:
    """Return whether *task* is running now. False if other code is closing its coroutine."""
    try:
        return asyncio.current_task() is task
    except RuntimeError:  # No loop is running.
        return False


def is_cancelling() -> bool:
    """Return whether cancellation of the current task was requested."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def forget_cancellation() -> None:
    """Let the current task go on although its cancellation was requested."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)  # Receive the cancellation, if it is still pending.
        while task.cancelling():
            task.uncancel()


async def yield_to_loop() -> None:
    """Let the loop process events of its sockets, such as a closed connection."""
    # The first turn polls the sockets, and the second one runs their callbacks.
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def call_soon(function: Callable[..., object], *args: Any) -> None:
    """Call *function* in the next turn of the loop."""
    asyncio.get_running_loop().call_soon(function, *args)


def call_later(seconds: float, function: Callable[..., object]) -> None:
    """Call *function* in the loop after *seconds*."""
    asyncio.get_running_loop().call_later(seconds, function)


@contextlib.contextmanager
def outside_loop() -> Iterator[None]:
    """Run the block as if no loop ran in this thread: it may run a loop of its own.

    Use it only around code that does not await.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    asyncio.tasks._leave_task(loop, task)  # noqa: SLF001 (for those who write loops)
    asyncio._set_running_loop(None)  # noqa: SLF001
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)  # noqa: SLF001
        asyncio.tasks._enter_task(loop, task)  # noqa: SLF001


def run_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run *work* in a new loop, as `asyncio.run` does. Other tasks have `LEFTOVER_S` to end."""
    loop = new_loop(daemon=threading.current_thread().daemon)
    asyncio.set_event_loop(loop)
    main = loop.create_task(work)
    try:
        loop.run_until_complete(main)
    finally:
        if not main.done():  # An exception has interrupted the loop: end the work.
            main.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                loop.run_until_complete(main)
        loop.run_until_complete(_cancel_leftovers())
        asyncio.set_event_loop(None)
        loop.close()


async def _cancel_leftovers() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    generators = asyncio.get_running_loop().shutdown_asyncgens()
    await wait_ended([*left, spawn(generators, "holdfast generators")], LEFTOVER_S)
