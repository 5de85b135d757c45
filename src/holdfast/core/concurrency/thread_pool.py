"""Run blocking functions in threads for an event loop, which may stop waiting for them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from itertools import takewhile
from queue import SimpleQueue
from typing import Any, Final, TypeAlias, TypeVar, cast

from .detached_thread import start_thread
from .thread_frames import frame_of

T = TypeVar("T")

_BEGIN: Final = "begin"
_END: Final = "end"

_Outcome: TypeAlias = tuple[Any, BaseException | None]


class Interrupted(BaseException):
    """Raised once inside a function that runs in one of `Threads` when its caller stops waiting.

    It may be raised between any two bytecodes. The function should release its resources with
    `finally` or `with`, and not catch this. A function that catches it continues in its thread.
    """


class _ThreadJob:
    """A function that a thread runs or will run, and its state.

    Attributes:
        steps: the steps that neither the thread nor the loop has taken yet. Each takes the next one
            with `pop`, which is atomic. If the thread takes *begin*, the function runs; if the loop
            takes it, the function never runs. If the thread takes *end*, the function is not
            interrupted; if the loop takes it, the function is interrupted. So no lock is needed,
            which an interruption might leave acquired even with `with` (Python 3.14).
        thread: the ident of the thread that runs the function; set before *begin* is taken.
        outcome: the result and the error of the function, after it has ended.
        stack: the frames of the function when it was abandoned, the innermost last.
        sent: whether the loop has sent the interruption.
        abandoned: whether the function runs although no caller waits for it. Only the loop uses it.
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
    """Daemon threads that run plain functions for the current event loop.

    A thread is started if all others are busy. A new function wakes one idle thread. If further
    functions wait, this thread wakes another one before it runs the function. So short functions of
    one turn of the loop run one after the other in few threads, and a long one delays no other.

    Use the methods and attributes only in the thread of the loop. Call `close` in the end.

    Args:
        limit: largest number of threads, at least 1. Further functions wait in order for a thread.
        name: name of the threads, to which their numbers are appended.
        on_freed: called by the loop each time an abandoned function has ended, after `abandoned`
            and `busy` were lowered.

    Raises:
        ValueError: *limit* is less than 1.
        RuntimeError: no event loop is running.
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
        self._jobs: deque[_ThreadJob] = deque()
        self._wakes: SimpleQueue[None] = SimpleQueue()  # each entry wakes one idle thread
        self._thread_waking = False  # whether a thread was woken and has not looked for jobs yet
        self._ended: deque[_ThreadJob] = deque()
        self._waking = False
        self._started = 0
        self._unfinished = 0
        self._abandoned = 0
        self._closed = False

    @property
    def busy(self) -> int:
        """Return how many threads run a function, even if its caller does not wait any more."""
        return min(self._unfinished, self._started)

    @property
    def abandoned(self) -> int:
        """Return how many functions still run although their callers stopped waiting."""
        return self._abandoned

    async def run(self, function: Callable[[], T]) -> T:
        """Run *function* in one of the threads, in a copy of the caller's context.

        If the caller is cancelled, this call ends at once:

        - A function that has not begun never runs.
        - A function that runs is abandoned. `Interrupted` is raised in it as soon as it executes
          Python code again, which may be after the end of a blocking call such as `time.sleep`. It
          occupies its thread until it ends. Its outcome is ignored. The CancelledError has a note
          with the stack of the function.
        - If the function has ended, but the loop was too busy to notice, this call returns or
          raises its outcome.

        Returns:
            What *function* returns.

        Raises:
            BaseException: the exception of *function*; RuntimeError instead of StopIteration.
            RuntimeError: the threads are closed, or the system cannot start another thread.
        """
        if self._closed:
            raise RuntimeError(f"the threads of {self._name!r} are closed")
        if self._unfinished >= self._started < self._limit:
            self._start()
        future: asyncio.Future[_Outcome] = self._loop.create_future()
        job = _ThreadJob(function, future)
        self._unfinished += 1
        self._jobs.append(job)
        self._wake_thread()
        outcome: _Outcome | None = None
        error: BaseException | None = None
        try:
            try:
                outcome = await future
            except asyncio.CancelledError as cancelled:
                outcome = self._abandon(job)
                if outcome is None:
                    if job.stack:
                        cancelled.add_note(_stack_text(job.stack))
                    raise
            except BaseException:  # The coroutine was closed.
                self._abandon(job)
                raise
            result, error = outcome
            if error is not None:
                raise error
            return cast(T, result)
        finally:
            outcome = error = None
            del future, job  # Otherwise an error in *outcome* and this frame refer to each other.

    def close(self) -> None:
        """Accept no more functions, and let each thread end when it is idle.

        Functions that were accepted still run. Do not wait for them. Safe to repeat.
        """
        if not self._closed:
            self._closed = True
            self._wakes.put(None)

    def _wake_thread(self) -> None:
        """Wake an idle thread, unless one is waking already. Any thread may call this."""
        if not self._thread_waking:
            self._thread_waking = True  # Two threads may set it at once: then two threads wake.
            self._wakes.put(None)

    def _start(self) -> None:
        start_thread(self._work, f"{self._name} {self._started + 1}")
        self._started += 1

    def _abandon(self, job: _ThreadJob) -> _Outcome | None:
        """Keep *job* from beginning, or interrupt it, because its caller stopped waiting.

        Returns:
            The outcome of the job if it has ended; otherwise None.
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
            job.sent = True  # In `finally`, because the thread waits for this.

    def _collect(self) -> None:
        """Set the outcomes of all functions that have ended. Call this in the loop."""
        # Reset this first, so that a function that ends from now on wakes the loop again.
        self._waking = False
        while self._ended:
            job = self._ended.popleft()
            self._unfinished -= 1
            if job.abandoned:
                self._abandoned -= 1
                if self._on_freed is not None:
                    self._loop.call_soon(self._on_freed)
            elif not job.future.done():
                # Not `set_exception`, because it reads attributes of the error, which may raise.
                job.future.set_result(job.outcome)

    def _work(self) -> None:
        """Run jobs in one thread."""
        ident = threading.get_ident()
        while True:
            self._wakes.get()
            # Reset this before looking: a job that is added from now on wakes another thread.
            self._thread_waking = False
            while (job := self._next_job()) is not None:
                job.thread = ident
                if self._performed(job):
                    self._ended.append(job)
                    # Wake the loop once for all functions that end before it collects them.
                    if not self._waking:
                        self._waking = True
                        with contextlib.suppress(RuntimeError):  # The loop is closed.
                            self._loop.call_soon_threadsafe(self._collect)
                del job  # Otherwise an idle thread would keep the outcome alive.
            if self._closed:
                self._wakes.put(None)  # End the next thread.
                return

    def _next_job(self) -> _ThreadJob | None:
        """Return the next job, and wake a thread for the one after it; None if there is none."""
        try:
            job = self._jobs.popleft()
        except IndexError:
            return None
        if self._jobs:
            self._wake_thread()
        return job

    def _performed(self, job: _ThreadJob) -> bool:
        """Run *job*. Return False if it must not begin.

        After the return, the `Interrupted` of this job is not raised any more.
        """
        try:
            if job.steps.pop() is not _BEGIN:
                return False
            job.outcome = _outcome(job.context, job.function)
            try:
                job.steps.pop()
            except IndexError:
                self._receive(job)
        except Interrupted:  # It was raised after the end of the function. There is only one.
            pass
        finally:
            del job  # Otherwise an error of the function and this frame refer to each other.
        return True

    def _receive(self, job: _ThreadJob) -> None:
        """Receive the interruption of *job*, so that none is raised later.

        The interruption may have been raised in the function, may be pending for this thread, or
        the loop may still send it. Python keeps at most one pending exception per thread. So wait
        until the loop has sent it, then send another one, which replaces a pending one, and wait
        until it is raised.

        Clearing a pending exception by the same call would be simpler. But up to Python 3.12 that
        leaves a flag set that slows down the whole interpreter until the next interruption.
        """
        try:
            while not job.sent:
                time.sleep(0)
            while True:  # Repeat, because a finalizer may swallow the exception.
                self._interrupt(job.thread)
        except Interrupted:
            pass


def _outcome(context: Context, function: Callable[[], Any]) -> _Outcome:
    """Run *function* and return its outcome.

    This is a separate function, so that no variable refers to an error with its frame in the
    traceback.
    """
    try:
        return context.run(function), None
    except StopIteration as error:
        return None, _without_stop_iteration(error)
    except BaseException as error:  # noqa: BLE001 (raised in the caller)
        return None, error


def _stack(ident: int) -> traceback.StackSummary:
    """Return the frames of the function that the thread *ident* runs; none if it has ended."""
    frame = frame_of(ident)
    places = list(traceback.walk_stack(frame)) if frame is not None else []
    own = takewhile(lambda place: place[0].f_code.co_filename != __file__, places)
    # Read the source lines later, so that the interruption does not wait for files.
    return traceback.StackSummary.extract(reversed(list(own)), lookup_lines=False)


def _stack_text(stack: traceback.StackSummary) -> str:
    return f"Its thread was here (most recent call last):\n{''.join(stack.format())}".rstrip()


def _without_stop_iteration(error: StopIteration) -> RuntimeError:
    """Return a RuntimeError caused by *error*, because a coroutine cannot raise StopIteration."""
    instead = RuntimeError("the function raised StopIteration")
    instead.__cause__ = error
    return instead


def _interrupter() -> Callable[[int], object]:
    """Return a function that raises `Interrupted` in the thread with a given ident."""
    import ctypes  # Only workers need it, and the import takes time.

    # An index returns a new function object. An attribute of `pythonapi` would be shared by the
    # whole process, and so would the types of its arguments.
    send = ctypes.pythonapi["PyThreadState_SetAsyncExc"]
    send.argtypes = (ctypes.c_ulong, ctypes.py_object)
    send.restype = ctypes.c_int
    return lambda ident: send(ident, Interrupted)
