"""One private event loop per process, in a thread of its own.

The renewer and the notifier run there, for both halves: they go on while the user's own loop is
blocked or their own threads compute. User code never runs there.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from ._sync.primitives import Event
from .detached_thread import start
from .event_loop import new_loop
from .semaphore import Mutex

Result = TypeVar("Result")


class Submitted(Generic[Result]):
    """Work that runs in another thread's loop. A future there would take a lock here."""

    def __init__(self, work: Coroutine[Any, Any, Result], loop: asyncio.AbstractEventLoop) -> None:
        self._work = work
        self._loop = loop
        self._task: asyncio.Task[Result] | None = None
        self._ended = Event()

    def begin(self, under_way: set[Submitted[Any]]) -> None:
        """Begin, in the loop. *under_way* holds it until it ends, as the loop does not."""
        under_way.add(self)
        self._task = self._loop.create_task(self._work)
        self._task.add_done_callback(lambda _: self._end(under_way))

    def cancel(self) -> None:
        """Cancel it, soon. From any thread."""
        self._loop.call_soon_threadsafe(lambda: self._task is not None and self._task.cancel())

    def done(self) -> bool:
        """Return whether it has ended."""
        return self._ended.is_set()

    def result(self) -> Result:
        """Wait until it ends, and return what it returned. Only from another thread."""
        self._ended.wait(None)
        assert self._task is not None
        return self._task.result()

    def _end(self, under_way: set[Submitted[Any]]) -> None:
        under_way.discard(self)
        self._ended.set()


class LoopThread:
    """A daemon thread that runs an event loop until its last user leaves."""

    # By process: a forked child starts its own, under a lock that was free when it was forked.
    _mine: dict[int, LoopThread] = {}  # noqa: RUF012
    _guards: dict[int, Mutex] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self._users = 0
        self._under_way: set[Submitted[Any]] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._loop = new_loop()
        self._unclaimed = [self._loop]
        self._thread: threading.Thread | None = None

    @classmethod
    def enter(cls) -> LoopThread:
        """Return the thread of this process, started for its first user. Pair it with `leave`."""
        with cls._guard():
            thread = cls._mine.get(os.getpid())
            if thread is None:
                thread = cls._mine[os.getpid()] = cls()
            if thread._thread is None:  # perhaps because an exception interrupted its start
                started = threading.Thread(target=thread._run, name="holdfast", daemon=True)
                start(started)
                thread._thread = started
            thread._users += 1
            return thread

    def leave(self) -> None:
        """Remove one user; the last one ends the thread."""
        with self._guard():
            self._users -= 1
            if self._users or self._mine.get(os.getpid()) is not self:
                return
            del self._mine[os.getpid()]
        self._loop.call_soon_threadsafe(self._loop.stop)
        if self._thread is not None and threading.current_thread() is not self._thread:
            self._thread.join()

    def leave_after(self, work: Coroutine[Any, Any, None]) -> None:
        """Call `leave` in the loop after *work* has ended. Take no lock and do not wait."""
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
        """Run *work* there."""
        submitted = Submitted(work, self._loop)
        self._loop.call_soon_threadsafe(submitted.begin, self._under_way)
        return submitted

    def call_soon(self, function: Any, *args: Any) -> None:
        """Call *function* there, soon."""
        self._loop.call_soon_threadsafe(function, *args)

    def _run(self) -> None:
        try:
            self._unclaimed.pop()
        except IndexError:  # its start was interrupted, and another thread runs it
            return
        self._thread = threading.current_thread()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            # Again and again: on Python 3.11 `asyncio.wait_for` may swallow a cancellation.
            while left := asyncio.all_tasks(self._loop):
                for task in left:
                    task.cancel()
                self._loop.run_until_complete(asyncio.wait(left, timeout=0.05))
            # A connection that was aborted in the last turn is closed in the next one.
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()


class OwnLoop:
    """The running event loop, with the methods of a `LoopThread`.

    Callbacks need no other thread, but none runs while the loop is blocked.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._under_way: set[Submitted[Any]] = set()

    def leave(self) -> None:
        """Do nothing: the loop belongs to its owner."""

    def leave_after(self, work: Coroutine[Any, Any, None]) -> None:
        """Begin *work*; the loop is its owner's."""
        self.submit(work)

    def submit(self, work: Coroutine[Any, Any, Result]) -> Submitted[Result]:
        """Run *work* there. Only another thread may wait for its result."""
        submitted = Submitted(work, self._loop)
        self._loop.call_soon_threadsafe(submitted.begin, self._under_way)
        return submitted

    def call_soon(self, function: Any, *args: Any) -> None:
        """Call *function* there, soon. From any thread."""
        self._loop.call_soon_threadsafe(function, *args)
