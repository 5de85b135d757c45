"""Run a private event loop in a thread, one per process.

The renewers and notifiers of all clients run in this loop, so they continue while the user's loop
is blocked and the user's threads compute. User code never runs in it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from ._sync.primitives import Event
from .detached_thread import start_thread
from .event_loop import new_loop
from .semaphore import Mutex

Result = TypeVar("Result")


class Submitted(Generic[Result]):
    """Work that was submitted to the loop of another thread.

    This is no `concurrent.futures.Future`, because that takes a lock, which an exception of a
    signal handler could leave acquired.
    """

    def __init__(self, work: Coroutine[Any, Any, Result], loop: asyncio.AbstractEventLoop) -> None:
        self._work = work
        self._loop = loop
        self._task: asyncio.Task[Result] | None = None
        self._ended = Event()

    def begin(self, in_progress: set[Submitted[Any]]) -> None:
        """Begin the work. Call this in the loop.

        Keep this object in *in_progress* until the work ends, because the loop has only a weak
        reference to its tasks.
        """
        in_progress.add(self)
        self._task = self._loop.create_task(self._work)
        self._task.add_done_callback(lambda _: self._end(in_progress))

    def cancel(self) -> None:
        """Cancel the work soon, and ignore its outcome. Any thread may call this."""
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            # asyncio logs an exception that nothing retrieves. The work may have ended with one.
            self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    def done(self) -> bool:
        """Return whether the work has ended."""
        return self._ended.is_set()

    def wait(self, timeout_s: float) -> bool:
        """Wait at most *timeout_s* seconds for the end of the work. Return whether it has ended."""
        return self._ended.wait(timeout_s)

    def result(self) -> Result:
        """Wait for the end of the work, and return its result. Do not call this in the loop."""
        self._ended.wait(None)
        assert self._task is not None
        return self._task.result()

    def _end(self, in_progress: set[Submitted[Any]]) -> None:
        in_progress.discard(self)
        self._ended.set()


class LoopThread:
    """A daemon thread that runs an event loop until its last user leaves."""

    # By process id, so that a forked child has its own thread, and a mutex that is free.
    _threads: dict[int, LoopThread] = {}  # noqa: RUF012
    _guards: dict[int, Mutex] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self._users = 0
        self._in_progress: set[Submitted[Any]] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._loop = new_loop(daemon=True)
        self._unclaimed = [self._loop]  # The first thread that takes the loop runs it.
        self._thread: threading.Thread | None = None

    @classmethod
    def enter(cls) -> LoopThread:
        """Return the thread of this process. Start it for its first user. Call `leave` later."""
        with cls._guard():
            thread = cls._threads.get(os.getpid())
            if thread is None:
                thread = cls._threads[os.getpid()] = cls()
            if thread._thread is None:  # New, or an exception has interrupted its start.
                thread._thread = start_thread(thread._run, "holdfast")
            thread._users += 1
            return thread

    def leave(self) -> None:
        """Remove one user. If it was the last one, end the thread."""
        with self._guard():
            self._users -= 1
            if self._users or self._threads.get(os.getpid()) is not self:
                return
            del self._threads[os.getpid()]
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def leave_after(self, work: Coroutine[Any, Any, None]) -> None:
        """Run *work* in the loop, then call `leave` there. Do not wait and take no lock."""
        self._loop.call_soon_threadsafe(self._begin_to_leave, work)

    def _begin_to_leave(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._leaving.add(task)
        task.add_done_callback(self._left)

    def _left(self, task: asyncio.Task[None]) -> None:
        self._leaving.discard(task)
        self.leave()

    @classmethod
    def _guard(cls) -> Mutex:
        return cls._guards.setdefault(os.getpid(), Mutex())

    def submit(self, work: Coroutine[Any, Any, Result]) -> Submitted[Result]:
        """Run *work* in the loop."""
        submitted = Submitted(work, self._loop)
        self._loop.call_soon_threadsafe(submitted.begin, self._in_progress)
        return submitted

    def call_soon(self, function: Any, *args: Any) -> None:
        """Call *function* soon in the loop. Any thread may call this."""
        self._loop.call_soon_threadsafe(function, *args)

    def _run(self) -> None:
        try:
            self._unclaimed.pop()
        except IndexError:  # Another thread runs the loop, because `enter` was interrupted.
            return
        self._thread = threading.current_thread()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            # Repeat, because on Python 3.11 `asyncio.wait_for` may swallow a cancellation.
            while left := asyncio.all_tasks(self._loop):
                for task in left:
                    task.cancel()
                self._loop.run_until_complete(asyncio.wait(left, timeout=0.05))
            # Run two more turns, because an aborted connection is closed in a later turn.
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()


class OwnLoop:
    """The user's running event loop, with the methods of a `LoopThread`.

    It needs no other thread, but nothing runs in it while the user's code blocks the loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._in_progress: set[Submitted[Any]] = set()

    @property
    def is_here(self) -> bool:
        """Return whether the caller runs in the loop."""
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def leave(self) -> None:
        """Do nothing, because the user owns the loop."""

    def leave_after(self, work: Coroutine[Any, Any, None]) -> None:
        """Run *work* in the loop."""
        self.submit(work)

    def submit(self, work: Coroutine[Any, Any, Result]) -> Submitted[Result]:
        """Run *work* in the loop. Only another thread may wait for its result."""
        submitted = Submitted(work, self._loop)
        self._loop.call_soon_threadsafe(submitted.begin, self._in_progress)
        return submitted

    def call_soon(self, function: Any, *args: Any) -> None:
        """Call *function* soon in the loop. Any thread may call this."""
        self._loop.call_soon_threadsafe(function, *args)
