"""Functions that run in a thread of their own, for whose end one may stop waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from .interruption import raise_interruption


def detached(function: Callable[..., Any], *args: Any) -> Future[Any]:
    """Run a blocking *function* beside the caller; what becomes of it."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()  # so nobody who stops waiting can cancel it
    context = copy_context()

    def run() -> None:
        try:
            outcome = context.run(function, *args)
        except BaseException as error:  # noqa: BLE001 (whoever waits decides)
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
