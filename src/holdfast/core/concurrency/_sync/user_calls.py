"""Calls of the user's functions, beside the caller. Twin of `_async/user_calls.py`."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ..detached_thread import detached

Item = TypeVar("Item")


class CallbackRunner:
    """Runs each callback of the user in a thread of its own."""

    def run(self, function: Callable[[], object]) -> None:
        """Call *function* soon. From any thread."""
        threading.Thread(target=function, name="holdfast callback", daemon=True).start()


def in_thread(function: Callable[..., Item], *args: Any) -> Item:
    """Run a blocking *function* in this thread."""
    return function(*args)


def call_with_timeout(
    seconds: float, function: Callable[..., Any], *args: Any, left: set[Any]
) -> Any:
    """Call the user's *function* in a thread of its own, and limit the wait for its end.

    Args:
        seconds: the timeout. The thread runs on after it.
        function: the user's function.
        args: its arguments.
        left: gets one entry for each call that still runs after that, until it ends.

    Raises:
        TimeoutError: the function takes longer.
    """
    outcome = detached(function, *args)
    try:
        return outcome.result(seconds)
    finally:
        if not outcome.done():
            left.add(outcome)
            outcome.add_done_callback(left.discard)


def can_call(function: Callable[..., Any]) -> bool:
    """Return whether `call_with_timeout` can call *function*: only if it is not async."""
    return callable(function) and not inspect.iscoroutinefunction(function)
