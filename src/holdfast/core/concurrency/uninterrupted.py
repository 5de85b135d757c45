"""Work that exceptions from signal handlers do not interrupt."""

from __future__ import annotations

import threading
from _thread import start_new_thread
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

from ._sync.primitives import Event

ENDING_S: Final = 30.0
"""Seconds that interrupted work has to end; then the caller goes on without it."""

_LOOK_S: Final = 0.5
"""Seconds between two chances for a signal handler. Python does not run it while a thread waits, if
the signal came just before the wait, or to another thread."""


def run_apart(work: Callable[[], None], stop: Callable[[], None]) -> None:
    """Do *work*, out of reach of signal handlers, and raise what it raises.

    Python runs signal handlers in the main thread. What they raise inside a callback of an event
    loop is lost, and the callback is never finished. So the main thread only waits: an exception
    interrupts that, calls *stop*, and is raised when the work has ended.

    Args:
        work: what is done; in this thread, if it is not the main one.
        stop: makes it end soon. Called from another thread than the work, and only once it has
            begun; it may have ended by then.
    """
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    ended, errors = Event(), list[BaseException]()
    unclaimed = [work]  # by the thread, which begins it, or by this one, so that it never begins

    def do() -> None:
        if not _claim(unclaimed):
            return
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (it is raised by the thread that waits)
            errors.append(error)
        finally:
            ended.set()

    context = copy_context()
    thread = threading.Thread(target=context.run, args=(do,), name="holdfast worker", daemon=True)
    try:
        # What a signal handler raises inside `Thread.start` breaks the thread that it starts. No
        # handler runs in the thread that calls it here.
        start_new_thread(_start, (thread, errors, ended))
        while not ended.wait(_LOOK_S):
            pass
    except BaseException:
        if not _claim(unclaimed):
            stop()
            ended.wait(ENDING_S)
        raise
    if errors:
        raise errors[0]


def _start(thread: threading.Thread, errors: list[BaseException], ended: Event) -> None:
    """Start *thread*. If that fails, add why to *errors*."""
    try:
        thread.start()
    except BaseException as error:  # noqa: BLE001 (it is raised by the thread that waits)
        errors.append(error)
        ended.set()


def _claim(unclaimed: list[Callable[[], None]]) -> bool:
    """Return whether this thread is the first one to claim the work."""
    try:
        unclaimed.pop()
    except IndexError:
        return False
    return True
