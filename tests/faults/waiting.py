"""Waiting for something to become true, bounded: `eventually`."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

POLL_S = 0.01
REST = 4
"""A check takes at most a fifth of the time: what is waited for needs the processor, too."""


def eventually(predicate: Callable[[], T], timeout: float = 60.0, *, reason: str = "") -> T:
    """Call `predicate` until it returns something true, and return that.

    Args:
        predicate: What to ask; asked at least once. Its exceptions are not caught.
        timeout: Seconds to go on asking.
        reason: What is waited for, in words; by default the predicate's source or name.

    Raises:
        AssertionError: It was still false after `timeout` seconds.
    """
    deadline_s = time.monotonic() + timeout
    began_s = time.thread_time()
    while not (result := predicate()):
        if time.monotonic() > deadline_s:
            raise _overdue(predicate, timeout, reason, result)
        time.sleep(max(POLL_S, REST * (time.thread_time() - began_s)))
        began_s = time.thread_time()
    return result


def eventually_grows(look: Callable[[], float], timeout: float = 60.0, *, reason: str = "") -> None:
    """Wait until what falls by itself, such as what is left of a lease, is more than it was."""
    least = look()

    def has_grown() -> bool:
        nonlocal least
        now = look()
        least = min(least, now)
        return now > least

    eventually(has_grown, timeout, reason=reason or _source(look))


async def eventually_async(
    predicate: Callable[[], Awaitable[T]] | Callable[[], T],
    timeout: float = 60.0,
    *,
    reason: str = "",
) -> T:
    """Do as `eventually` does, while the event loop runs on; the predicate may be async."""
    deadline_s = time.monotonic() + timeout
    while True:
        result = predicate()
        if inspect.isawaitable(result):
            result = await result
        if result:
            return result
        if time.monotonic() > deadline_s:
            raise _overdue(predicate, timeout, reason, result)
        await asyncio.sleep(POLL_S)


def _overdue(
    predicate: Callable[[], object], timeout: float, reason: str, result: object
) -> AssertionError:
    return AssertionError(
        f"still not after {timeout} s: {reason or _source(predicate)} (last answer: {result!r})"
    )


def _source(predicate: Callable[[], object]) -> str:
    try:
        return inspect.getsource(predicate).strip()
    except (OSError, TypeError):
        return repr(predicate)
