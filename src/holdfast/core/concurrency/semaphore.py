"""Semaphores and mutexes for threads that an exception may interrupt anywhere.

A signal handler, or a timeout, may raise between any two bytecodes: after a lock was acquired and
before `with` or `try` protects it, or in place of its release. The lock then stays acquired. So
these hold no lock. Each entry is known by the frame of the function that made it. A thread that
waits skips an entry if its frame has left the stack of its thread.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from threading import TIMEOUT_MAX, Lock, get_ident
from types import CodeType, FrameType, TracebackType
from typing import Final

_LOOK_S: Final = 0.05
"""Seconds after which a thread that waits looks for entries that an exception has left behind."""


def lock_timeout(timeout_s: float | None) -> float:
    """Return *timeout_s* as a lock takes it: -1 for None; some centuries at most."""
    return -1 if timeout_s is None else min(max(timeout_s, 0.0), TIMEOUT_MAX)


class _Entry:
    """One function that is inside, or waits.

    Attributes:
        thread: the ident of its thread.
        frame: the id of its frame. The frame itself would keep its variables alive.
        code: of the function, because another frame may get the same id later.
        called: released when it may be time to enter; None while it does not wait.
    """

    __slots__ = ("called", "code", "frame", "thread")

    def __init__(self, frame: FrameType) -> None:
        self.thread = get_ident()
        self.frame = id(frame)
        self.code: CodeType = frame.f_code
        self.called: Lock | None = None

    def is_of(self, frame: FrameType) -> bool:
        """Return whether *frame* of this thread made the entry."""
        return self.frame == id(frame) and self.thread == get_ident()

    def is_alive(self) -> bool:
        """Return whether its frame is still on the stack of its thread."""
        frame = sys._current_frames().get(self.thread)  # noqa: SLF001 (documented, in spite of its name)
        return frame is not None and (self.frame, self.code) in {_known(frame), *_callers(frame)}


def _known(frame: FrameType) -> tuple[int, CodeType]:
    return id(frame), frame.f_code


def _callers(frame: FrameType) -> Iterator[tuple[int, CodeType]]:
    """Return the id and the code of each frame that called *frame*, directly or not."""
    caller = frame.f_back
    while caller is not None:
        yield _known(caller)
        caller = caller.f_back


class Semaphore:
    """Lets a limited number of threads in, first come, first served. Use it with `with` only.

    A function that a signal handler calls, while its thread is inside or waits, is let in at once:
    it would wait for itself.

    Do not hold it across a `yield` or `await`: a suspended frame is on no stack, so its entry would
    count as left behind.

    Args:
        limit: how many threads may be inside.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: OrderedDict[_Entry, None] = OrderedDict()  # each step on it is atomic

    def __enter__(self) -> None:
        frame = sys._getframe(1)  # noqa: SLF001 (documented, in spite of its name)
        entry = _Entry(frame)
        try:
            self._entries[entry] = None
            # While it is alone it is inside: later entries go behind it.
            if len(self._entries) > 1 and not self._admits(entry):
                self._wait(entry, frame)
        except BaseException:
            # The frame may catch this and live on: waiters would take the entry for a live one.
            self._entries.pop(entry, None)
            self._call_next()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        frame = sys._getframe(1)  # noqa: SLF001 (documented, in spite of its name)
        entries = list(self._entries)
        if len(entries) == 1:  # the usual case
            entry = entries[0]
            if entry.frame == id(frame) and entry.thread == get_ident():
                self._entries.pop(entry, None)
                if self._entries:
                    self._call_next()
                return
        # After a nested `with` the entry may be further behind.
        if not self._drop(frame, self._first()):
            self._drop(frame, list(self._entries))
        self._call_next()

    def _admits(self, entry: _Entry) -> bool:
        try:
            return entry in islice(self._entries, self._limit)
        except RuntimeError:  # another thread has changed them between the two steps
            return entry in self._first()

    def _wait(self, entry: _Entry, frame: FrameType) -> None:
        called = entry.called = Lock()
        called.acquire()
        callers: set[tuple[int, CodeType]] = set()
        for each in list(self._entries):
            if each.thread == entry.thread and each is not entry:
                callers = callers or {*_callers(frame)}
                if (each.frame, each.code) not in callers:  # an exception has left it behind
                    self._entries.pop(each, None)
        while not self._admits(entry):
            if any((each.frame, each.code) in callers for each in self._of(entry.thread)):
                return
            if not called.acquire(timeout=_LOOK_S):
                self._drop_dead()

    def _of(self, thread: int) -> list[_Entry]:
        return [each for each in self._first() if each.thread == thread]

    def _first(self) -> list[_Entry]:
        return list(self._entries)[: self._limit]  # one step, other than `islice` and its use

    def _drop_dead(self) -> None:
        for each in list(self._entries):
            if not each.is_alive():
                self._entries.pop(each, None)
        self._call_next()

    def _drop(self, frame: FrameType, entries: list[_Entry]) -> bool:
        """Drop those of *entries* that *frame* has made; return whether there was one."""
        made = [each for each in entries if each.is_of(frame)]
        for each in made:
            self._entries.pop(each, None)
        return bool(made)

    def _call_next(self) -> None:
        """Wake the entry that has just become one of the first, if it waits."""
        first = self._first()
        called = first[-1].called if len(first) == self._limit else None
        if called is not None:
            with suppress(RuntimeError):  # it was called before
                called.release()


class Mutex(Semaphore):
    """Lets one thread in."""

    def __init__(self) -> None:
        super().__init__(1)
