"""Call the user's functions with a limited wait. Twin of `_async/user_calls.py`."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from ..detached_thread import detached

Item = TypeVar("Item")
Argument = TypeVar("Argument")

UserFunction: TypeAlias = Callable[[Argument], Item]
"""A function of the user for this half, with one argument."""


class CallbackRunner:
    """Runs each callback of the user in a new thread."""

    def run(self, function: Callable[[], object]) -> None:
        """Call *function* soon. Any thread may call this."""
        threading.Thread(target=function, name="holdfast callback", daemon=True).start()


def in_thread(function: Callable[..., Item], *args: Any) -> Item:
    """Run a blocking *function* in this thread."""
    return function(*args)


def call_with_timeout(
    seconds: float, function: Callable[..., Any], *args: Any, left: set[Any]
) -> Any:
    """Call the user's *function* in a new thread, and wait at most *seconds* for its end.

    Args:
        seconds: the timeout in seconds. The function continues after it.
        function: the user's function.
        args: arguments of the function.
        left: a set that contains an object for each function that still runs after its wait.

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
