"""Call the user's functions with a limited wait. Twin of `_async/user_calls.py`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeAlias, TypeVar

from ..detached_thread import detached, start_thread

Item = TypeVar("Item")
Argument = TypeVar("Argument")
P = ParamSpec("P")

UserFunction: TypeAlias = Callable[[Argument], Item]
"""A function of the user for this half, with one argument."""

UserWork: TypeAlias = Callable[[], Item]
"""A call of a function of the user for this half, with its arguments."""

UserCall: TypeAlias = Callable[P, Item]
"""A function of the user for this half, with any arguments."""


class CallbackRunner:
    """Runs each callback of the user in a new thread."""

    def run(self, function: Callable[[], object]) -> None:
        """Call *function* soon. Any thread may call this."""
        start_thread(function, "holdfast callback")


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


def check_half(function: Callable[..., Any], what: str) -> None:
    """Raise TypeError, which names it *what*, if *function* is async."""
    if inspect.iscoroutinefunction(function):
        raise TypeError(
            f"{what} must not be async for Holdfast; AsyncHoldfast takes async functions"
        )


def call_each(
    function: Callable[[Any], Item], items: Iterable[Any], most: int
) -> list[Item | Exception]:
    """Call *function* with each of *items*, one after the other.

    Args:
        function: the function.
        items: its arguments.
        most: not used; in asyncio, the number of calls at the same time.

    Returns:
        For each item, what the function returned, or its exception.
    """
    del most
    outcomes: list[Item | Exception] = []
    for item in items:
        try:
            outcomes.append(function(item))
        except Exception as error:  # noqa: BLE001 (the caller decides)
            outcomes.append(error)
    return outcomes
