"""Work that exceptions from signal handlers do not interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

from ._sync import Event
from .detached import start

ENDING_S: Final = 30.0
"""Seconds that interrupted work has to end; then the caller goes on without it."""


def run_apart(work: Callable[[], None], stop: Callable[[], None]) -> None:
    """Do *work*, out of reach of signal handlers, and raise what it raises.

    Python runs signal handlers in the main thread. What they raise inside a callback of an event
    loop is lost, and the callback is never finished. So the main thread only waits: an exception
    interrupts that, calls *stop*, and is raised when the work has ended.

    Args:
        work: what is done; in this thread, if it is not the main one.
        stop: makes it end soon. Called from another thread than the work.
    """
    if threading.current_thread() is not threading.main_thread():
        work()
        return
    ended, errors = Event(), list[BaseException]()

    def do() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 (it is raised by the thread that waits)
            errors.append(error)
        finally:
            ended.set()

    context = copy_context()
    try:
        start(threading.Thread(target=context.run, args=(do,), name="holdfast worker", daemon=True))
        ended.wait(None)
    except BaseException:
        stop()
        ended.wait(ENDING_S)
        raise
    if errors:
        raise errors[0]
