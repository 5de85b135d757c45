"""Run functions in threads of their own, so that the caller may stop waiting for them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context, copy_context
from typing import Any

from .interruption import raise_interruption


def detached(function: Callable[..., Any], *args: Any) -> Future[Any]:
    """Run a blocking *function* in a new thread, and return the future of its outcome."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()  # A caller that stops waiting must not cancel it.
    context = copy_context()

    def run() -> None:
        try:
            outcome = context.run(function, *args)
        except BaseException as error:  # noqa: BLE001 (raised in the caller that waits)
            future.set_exception(error)
        else:
            future.set_result(outcome)

    start_thread(run, "holdfast load")
    return future


def start_thread(target: Callable[[], object], name: str) -> threading.Thread:
    """Start a daemon thread that runs *target* in an empty context, and return it.

    Free-threaded Python would give it the context of this thread, which it may outlive.

    If a signal handler raises meanwhile, `threading` may raise KeyError instead: raise the
    handler's exception in that case.
    """
    if sys.version_info >= (3, 14):  # Otherwise the thread would keep a copy of the context.
        thread = threading.Thread(target=target, name=name, daemon=True, context=Context())
    else:
        thread = threading.Thread(target=target, name=name, daemon=True)
    try:
        thread.start()
    except KeyError as error:
        raise_interruption(error)
        raise
    return thread
