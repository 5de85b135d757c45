"""Threads for blocking functions. An event loop waits for their end, and may stop waiting."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from itertools import takewhile
from queue import SimpleQueue
from typing import Any, Final, TypeAlias, TypeVar, cast

T = TypeVar("T")

_BEGIN: Final = "begin"
_END: Final = "end"

_Outcome: TypeAlias = tuple[Any, BaseException | None]


class Interrupted(BaseException):
    """Raised inside a function that runs in one of `Threads` when its caller stops waiting.

    It comes between any two bytecodes, once. A function that holds something frees it with
    `finally` or `with` and lets this pass; one that catches it runs on, in its thread.
    """


class _Job:
    """A function to be run, and who may still decide about it.

    Attributes:
        steps: what has not happened yet. Thread and loop each take the next step by `pop`, which is
            atomic: who takes *begin* decides whether the function runs, who takes *end* whether it
            is interrupted. Taken by the thread, no interruption comes. So the thread never holds a
            lock when one comes, which not even `with` would surely free (Python 3.14).
        thread: the ident of the thread that runs it, known before *begin* is taken.
        outcome: what it returned or raised, once it has ended.
        stack: where it was when it was abandoned, the innermost place last.
        sent: whether the interruption is on its way, so that the thread may receive it.
        abandoned: whether it runs though nobody waits for it. Of the loop only.
    """

    __slots__ = (
        "abandoned",
        "context",
        "function",
        "future",
        "outcome",
        "sent",
        "stack",
        "steps",
        "thread",
    )

    def __init__(self, function: Callable[[], Any], future: asyncio.Future[Any]) -> None:
        self.function = function
        self.future = future
        self.context: Context = copy_context()
        self.steps = [_END, _BEGIN]
        self.thread = 0
        self.outcome: _Outcome = (None, None)
        self.stack: traceback.StackSummary | None = None
        self.sent = False
        self.abandoned = False


class Threads:
    """Daemon threads that run plain functions for the event loop that this is made in.

    A thread is started when work comes and none is idle. All methods and attributes are for that
    loop's thread. Whoever makes it closes it.

    Args:
        limit: threads at most, at least 1. Further work waits for one of them, first in first out.
        name: of the threads, followed by their numbers from 1.
        on_freed: called by the loop each time an abandoned function has ended at last; `abandoned`
            and `busy` have gone down by then.

    Raises:
        ValueError: *limit* is less than 1.
        RuntimeError: no event loop runs here.
    """

    def __init__(
        self, limit: int, name: str, *, on_freed: Callable[[], None] | None = None
    ) -> None:
        if limit < 1:
            raise ValueError(f"limit must be at least 1, not {limit}")
        self._limit = limit
        self._name = name
        self._on_freed = on_freed
        self._loop = asyncio.get_running_loop()
        self._interrupt = _interrupter()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._ended: deque[_Job] = deque()
        self._waking = False
        self._started = 0
        self._unfinished = 0
        self._abandoned = 0
        self._closed = False

    @property
    def busy(self) -> int:
        """Threads that run a function, also an abandoned one, as far as the loop has heard."""
        return min(self._unfinished, self._started)

    @property
    def abandoned(self) -> int:
        """Functions that still run, each in its thread, although their callers stopped waiting."""
        return self._abandoned

    async def run(self, function: Callable[[], T]) -> T:
        """Run *function* in one of the threads, in a copy of the caller's context.

        When the caller is cancelled, this ends at once. A function that has not begun never does;
        one that runs is abandoned: `Interrupted` is raised in it as soon as it executes Python
        again (a blocking call, such as `time.sleep`, comes to its end before), its thread is taken
        until it really ends, and its outcome is dropped. But if it has ended by then, and the loop
        was too busy to notice, its outcome is returned or raised all the same. The cancellation of
        one that is abandoned has a note, which tells where it was at that moment.

        Returns:
            What it returns.

        Raises:
            BaseException: what it raises; RuntimeError in place of StopIteration, which no future
                can carry.
            RuntimeError: the threads are closed, or the system refuses a further one.
        """
        if self._closed:
            raise RuntimeError(f"the threads of {self._name!r} are closed")
        if self._unfinished >= self._started < self._limit:
            self._start()
        future: asyncio.Future[_Outcome] = self._loop.create_future()
        job = _Job(function, future)
        self._unfinished += 1
        self._jobs.put(job)
        outcome: _Outcome | None = None
        error: BaseException | None = None
        try:
            try:
                outcome = await future
            except asyncio.CancelledError as cancelled:
                outcome = self._abandon(job)
                if outcome is None:
                    if job.stack:
                        cancelled.add_note(_told(job.stack))
                    raise
            except BaseException:  # closed as a coroutine
                self._abandon(job)
                raise
            result, error = outcome
            if error is not None:
                raise error
            return cast(T, result)
        finally:
            outcome = error = None
            del future, job  # an error in it has this frame in its traceback: a cycle

    def close(self) -> None:
        """Take no more work and let idle threads end; busy ones, when they get idle.

        Waits for nothing. What was accepted is still run. Idempotent.
        """
        if not self._closed:
            self._closed = True
            self._jobs.put(None)

    def _start(self) -> None:
        name = f"{self._name} {self._started + 1}"
        threading.Thread(target=self._work, name=name, daemon=True).start()
        self._started += 1

    def _abandon(self, job: _Job) -> _Outcome | None:
        """Keep *job* from beginning, or interrupt it: its caller stopped waiting.

        Returns:
            How it has ended, if it has.
        """
        try:
            step = job.steps.pop()
            if step is _BEGIN:
                self._unfinished -= 1
            else:
                self._abandoned += 1
                job.abandoned = True
                job.stack = _stack(job.thread)
                self._interrupt(job.thread)
        except IndexError:
            return job.outcome
        else:
            return None
        finally:
            job.sent = True  # whatever a signal handler raised here: the thread waits for this

    def _collect(self) -> None:
        """Hand out the outcomes of all functions that have ended. Runs on the loop."""
        # Lowered first: what ends from here on wakes the loop again.
        self._waking = False
        while self._ended:
            job = self._ended.popleft()
            self._unfinished -= 1
            if job.abandoned:
                self._abandoned -= 1
                if self._on_freed is not None:
                    self._loop.call_soon(self._on_freed)
            elif not job.future.done():
                # Not `set_exception`: it asks for the class of the error, which may raise.
                job.future.set_result(job.outcome)

    def _work(self) -> None:
        """Run jobs in one thread."""
        ident = threading.get_ident()
        while (job := self._jobs.get()) is not None:
            job.thread = ident
            if self._performed(job):
                self._ended.append(job)
                # One wake-up is enough for all that end before the loop comes to collect.
                if not self._waking:
                    self._waking = True
                    with contextlib.suppress(
                        RuntimeError
                    ):  # the loop is closed, and no caller waits
                        self._loop.call_soon_threadsafe(self._collect)
            del job  # an idle thread keeps nothing alive
        self._jobs.put(None)  # for the next thread

    def _performed(self, job: _Job) -> bool:
        """Run *job*; False if it must not begin. Afterwards no interruption can come any more."""
        try:
            if job.steps.pop() is not _BEGIN:
                return False
            job.outcome = _outcome(job.context, job.function)
            try:
                job.steps.pop()
            except IndexError:
                self._receive(job)
        except Interrupted:  # it missed the function, and comes only once
            pass
        finally:
            del job  # an error that the function raised leads to this frame: a cycle
        return True

    def _receive(self, job: _Job) -> None:
        """Make sure that the interruption of *job* does not come later.

        It may have come to the function, or lie ready for this thread, or the loop is just about
        to send it. A thread has one place for it, and the next bytecodes find what lies there; so
        the thread sends itself another one, in place of any that lies there, and waits for it.

        Emptying that place with the same call would seem simpler. But up to Python 3.12 it leaves
        a flag behind that makes the whole interpreter slower until the next interruption.
        """
        try:
            while not job.sent:
                time.sleep(0)
            while True:  # a finalizer that happens to run here may swallow one
                self._interrupt(job.thread)
        except Interrupted:
            pass


def _outcome(context: Context, function: Callable[[], Any]) -> _Outcome:
    """Run *function*. Nothing here refers to an error that has this frame in its traceback."""
    try:
        return context.run(function), None
    except StopIteration as error:
        return None, _bearable(error)
    except BaseException as error:  # noqa: BLE001 (whatever it is, it is the caller's)
        return None, error


def _stack(ident: int) -> traceback.StackSummary:
    """Return the frames of the function that a thread runs; none if it has just ended."""
    frame = sys._current_frames().get(ident)  # noqa: SLF001 (documented, in spite of its name)
    places = list(traceback.walk_stack(frame)) if frame is not None else []
    own = takewhile(lambda place: place[0].f_code.co_filename != __file__, places)
    # Its lines are read later: not from files, while the function waits for its interruption.
    return traceback.StackSummary.extract(reversed(list(own)), lookup_lines=False)


def _told(stack: traceback.StackSummary) -> str:
    return f"Its thread was here (most recent call last):\n{''.join(stack.format())}".rstrip()


def _bearable(error: StopIteration) -> RuntimeError:
    """Return an exception in place of *error*, which no future can carry."""
    instead = RuntimeError("the function raised StopIteration")
    instead.__cause__ = error
    return instead


def _interrupter() -> Callable[[int], object]:
    """Return a function that raises `Interrupted` in the thread of an ident."""
    import ctypes  # only workers need it, and it takes a while

    # Not as an attribute of pythonapi: that one function belongs to the whole process, with the
    # types of its arguments. An index makes a new one.
    send = ctypes.pythonapi["PyThreadState_SetAsyncExc"]
    send.argtypes = (ctypes.c_ulong, ctypes.py_object)
    send.restype = ctypes.c_int
    return lambda ident: send(ident, Interrupted)
