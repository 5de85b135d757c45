"""Provide semaphores and mutexes that stay usable if an exception interrupts a thread anywhere.

A signal handler may raise between any two bytecodes: after a lock was acquired and before `with` or
`try` protects it, or in place of its release. The lock would then stay acquired. So a semaphore
holds no lock. It has a list of entries, and each entry names the frame of the function that
entered. A waiting thread removes the entries of frames that are no longer on a stack. On
free-threaded Python it cannot read the stacks of other threads. There `FinalizedExit` removes them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from threading import TIMEOUT_MAX, Lock, get_ident
from types import CodeType, FrameType, TracebackType
from typing import Final

from .finalized_exit import FinalizedExit
from .thread_frames import FREE_THREADED, frame_of, is_alive

_CHECK_S: Final = 0.05
"""Seconds after which a waiting thread looks for entries of functions that have ended."""

_SUSPENDABLE: Final = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
"""Flags of the code of generators and coroutines, which leave the stack before they end."""


def lock_timeout(timeout_s: float | None) -> float:
    """Return *timeout_s* for `Lock.acquire`: -1 for None (no limit), and at most `TIMEOUT_MAX`."""
    return -1 if timeout_s is None else min(max(timeout_s, 0.0), TIMEOUT_MAX)


class _SemaphoreEntry:
    """One function that is inside the semaphore or waits to enter.

    Attributes:
        thread: the ident of its thread.
        frame: the id of its frame. A reference to the frame would keep its variables alive.
        code: the code of the function, because a later frame may have the same id.
        called: released to make the function check again whether it may enter; None if it does not
            wait.
    """

    __slots__ = ("called", "code", "frame", "thread")

    def __init__(self, frame: FrameType) -> None:
        self.thread = get_ident()
        self.frame = id(frame)
        self.code: CodeType = frame.f_code
        self.called: Lock | None = None

    def is_of(self, frame: int, thread: int) -> bool:
        """Return whether the frame with this id has made the entry in *thread*."""
        return self.frame == frame and self.thread == thread

    def has_ended(self) -> bool:
        """Return whether the frame is no longer on the stack of its thread.

        Without the interpreter lock, this returns only whether the thread has ended.
        """
        frame = frame_of(self.thread)
        if frame is None:
            return not is_alive(self.thread)
        outermost = frame.f_code
        for known in _stack(frame):
            outermost = known[1]
            if known == (self.frame, self.code):
                return False
        # The thread runs while its stack is read. If it has just left a generator, the frame of the
        # generator has no caller, and the rest of the stack is unknown. Then return False.
        return not outermost.co_flags & _SUSPENDABLE


def _stack(frame: FrameType | None) -> Iterator[tuple[int, CodeType]]:
    """Yield the id and the code of *frame*, and of each frame that called it, directly or not."""
    while frame is not None:
        yield id(frame), frame.f_code
        frame = frame.f_back


class LocalSemaphore:
    """Limits how many threads run a section at once, in the order of arrival.

    Use it only in a `with` statement. If the thread of a signal handler is inside or waits, the
    handler is admitted at once, because otherwise the thread would wait for itself.

    Do not hold it across a `yield` or `await`. A suspended frame is on no stack, so its entry would
    be removed.

    Args:
        limit: number of threads that may be inside.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # Each operation on this dict is atomic, also without the interpreter lock.
        self._entries: dict[_SemaphoreEntry, None] = {}

    def __enter__(self) -> None:
        frame = sys._getframe(1)  # noqa: SLF001 (documented, in spite of its name)
        entry = _SemaphoreEntry(frame)
        try:
            self._entries[entry] = None
            # If this is the only entry, it is inside: later entries are behind it.
            if len(self._entries) > 1 and not self._admits(entry):
                self._wait(entry, frame)
        except BaseException:
            # Remove the entry, because the frame may catch the exception and continue. Waiters
            # would then wait for it.
            self._entries.pop(entry, None)
            self._call_next()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._leave(id(sys._getframe(1)), get_ident())  # noqa: SLF001

    def _leave(self, frame: int, thread: int) -> None:
        """Remove the entry that the frame with this id has made in *thread*."""
        entries = list(self._entries)
        if len(entries) == 1 and entries[0].is_of(frame, thread):  # This is the usual case.
            self._entries.pop(entries[0], None)
            if self._entries:
                self._call_next()
            return
        # After a nested `with` the entry may be further behind.
        made = [each for each in entries[: self._limit] if each.is_of(frame, thread)]
        for each in made or [each for each in entries if each.is_of(frame, thread)]:
            self._entries.pop(each, None)
        self._call_next()

    if FREE_THREADED:  # `has_ended` cannot read the stacks of other threads there.
        __exit__ = FinalizedExit(_leave)  # type: ignore[assignment]

    def _admits(self, entry: _SemaphoreEntry) -> bool:
        return entry in self._first()

    def _wait(self, entry: _SemaphoreEntry, frame: FrameType) -> None:
        called = entry.called = Lock()
        called.acquire()
        callers: set[tuple[int, CodeType]] = set()
        for each in list(self._entries):
            if each.thread == entry.thread and each is not entry:
                callers = callers or {*_stack(frame.f_back)}
                if (each.frame, each.code) not in callers:  # Its function has ended.
                    self._entries.pop(each, None)
        while not self._admits(entry):
            if any((each.frame, each.code) in callers for each in self._of(entry.thread)):
                return  # A caller of this function is inside: waiting would never end.
            if not called.acquire(timeout=_CHECK_S):
                self._drop_ended()
        entry.called = None

    def _of(self, thread: int) -> list[_SemaphoreEntry]:
        return [each for each in self._first() if each.thread == thread]

    def _first(self) -> list[_SemaphoreEntry]:
        # `list` is atomic; iterating over `islice` is not.
        return list(self._entries)[: self._limit]

    def _drop_ended(self) -> None:
        """Remove entries of functions that have ended, while they are the first.

        Entries behind them block no thread yet. Each waiter calls this, so it reads few stacks.
        """
        while ended := [each for each in self._first() if each.has_ended()]:
            for each in ended:
                self._entries.pop(each, None)
        self._call_next()

    def _call_next(self) -> None:
        """Wake the functions that may be inside and still wait to enter.

        There are several if several threads leave at once.
        """
        for called in [each.called for each in self._first()]:
            if called is not None:
                with suppress(RuntimeError):  # It was released before.
                    called.release()


class Mutex(LocalSemaphore):
    """Lets only one thread at a time run a section."""

    def __init__(self) -> None:
        super().__init__(1)
