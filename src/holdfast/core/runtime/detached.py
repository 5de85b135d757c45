"""Functions that run in a thread of their own, for whose end one may stop waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any


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

    threading.Thread(target=run, name="holdfast load", daemon=True).start()
    return future
