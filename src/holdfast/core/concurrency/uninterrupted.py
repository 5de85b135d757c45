"""Run work so that exceptions of signal handlers do not interrupt it."""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

from ._sync.primitives import Event

ENDING_S: Final = 30.0
"""Seconds to wait for interrupted work to end. Then the caller continues without it."""

_WAKE_S: Final = 0.5
"""Seconds after which the waiting main thread wakes, so that Python can run signal handlers. During
a wait, it does not run one if the signal came just before, or to another thread."""


def run_apart(work: Callable[[], None], stop: Callable[[], None]) -> None:
    """Run *work* where signal handlers cannot interrupt it, and raise what it raises.

    Python runs signal handlers in the main thread. An exception that they raise inside a callback
    of an event loop is lost, and the callback does not finish. So the work runs in another thread,
    and the main thread only waits. An exception that interrupts the wait calls *stop*, and is
    raised when the work has ended.

    Args:
        work: the work. It runs in the current thread if that is not the main thread.
        stop: makes the work end soon. It is called in the main thread, only after the work has
            begun, and perhaps after it has ended.
    """
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    ended, errors = Event(), list[BaseException]()
    # Only one thread can claim the work: the new one, to begin it, or this one, to prevent that.
    unclaimed = [work]

    def do() -> None:
        if not _claim(unclaimed):
            return
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (the main thread raises it)
            errors.append(error)
        finally:
            ended.set()

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(do,), name="holdfast worker", daemon=True)
    try:
        # A signal handler that raises inside `Thread.start` would leave a thread that is started
        # only in part. So another thread calls it: signal handlers run only in the main thread.
        start_new_thread(_start, (thread, errors, ended))
        while not ended.wait(_WAKE_S):
            pass
    except BaseException:
        if not _claim(unclaimed):
            stop()
            ended.wait(ENDING_S)
        raise
    if errors:
        raise errors[0]


def _start(thread: threading.Thread, errors: list[BaseException], ended: Event) -> None:
    """Start *thread*. If that fails, append the error to *errors*."""
    try:
        thread.start()
    except BaseException as error:  # noqa: BLE001 (the main thread raises it)
        errors.append(error)
        ended.set()


def _claim(unclaimed: list[Callable[[], None]]) -> bool:
    """Return whether this thread is the first one to claim the work."""
    try:
        unclaimed.pop()
    except IndexError:
        return False
    return True
