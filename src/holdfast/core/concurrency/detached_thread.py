"""Functions that run in a thread of their own. The caller may stop waiting for their end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from .interruption import raise_interruption


def detached(function: Callable[..., Any], *args: Any) -> Future[Any]:
    """Run a blocking *function* beside the caller, and return the future of its outcome."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()  # so a caller that stops waiting cannot cancel it
    context = copy_context()

    def run() -> None:
        try:
            outcome = context.run(function, *args)
        except BaseException as error:  # noqa: BLE001 (the waiting caller decides)
            future.set_exception(error)
        else:
            future.set_result(outcome)

    start(threading.Thread(target=run, name="holdfast load", daemon=True))
    return future


def start(thread: threading.Thread) -> None:
    """Start *thread*; `threading` may turn what a signal handler raises meanwhile into KeyError."""
    try:
        thread.start()
    except KeyError as error:
        raise_interruption(error)
        raise
