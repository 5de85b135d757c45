"""Times. Public methods take seconds and datetimes; all code below takes whole milliseconds.

Clocks by purpose: instants that are stored come from the server (`TIME` inside scripts), durations
that are waited for here come from the local monotonic clock, and lifetimes on the server come from
`since_boot`: the server's time goes on while this machine is suspended.
"""

from __future__ import annotations

import math
import random
import sys
import time
from datetime import UTC, datetime, timedelta

Duration = float | timedelta
"""Seconds, or a timedelta."""

Instant = float | datetime
"""Seconds since 1970 (UTC), or an aware datetime."""

MAX_MS = 2**47
"""About 4,460 years: what a duration or an instant may be at most. A double holds it exactly."""


def since_boot() -> float:
    """Return the seconds of a clock that never steps, and runs while the machine is suspended."""
    if sys.platform == "linux":  # where the monotonic clock stands still meanwhile
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def to_seconds(duration: Duration, what: str = "a duration") -> float:
    """Return *duration* in seconds, zero or more.

    Raises:
        ValueError: it is negative, not a number, infinite or absurdly long.
        TypeError: it is neither a number nor a timedelta.
    """
    if isinstance(duration, timedelta):
        duration = duration.total_seconds()
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise TypeError(f"{what} must be seconds or a timedelta, got {type(duration).__name__}")
    if not 0 <= duration <= MAX_MS / 1000:  # also refuses NaN
        raise ValueError(f"{what} must be 0 seconds or more and finite, got {duration!r}")
    return float(duration)


def to_timeout_s(timeout: Duration | None) -> float | None:
    """Return *timeout* in seconds; None is no limit. Raise as `to_seconds`."""
    return None if timeout is None else to_seconds(timeout, "timeout")


def to_ms(duration: Duration, what: str = "a duration") -> int:
    """Return *duration* in whole milliseconds, at least one: no lease may become 0 ms.

    Raises:
        ValueError: it is not positive, or absurdly long.
        TypeError: it is neither a number nor a timedelta.
    """
    seconds = to_seconds(duration, what)
    if seconds == 0:
        raise ValueError(f"{what} must be longer than 0 seconds")
    return max(1, round(seconds * 1000))


def not_early_ms(seconds: float) -> int:
    """Return *seconds* in whole milliseconds, rounded up: a waiter must not come early.

    A millisecond is exact only up to the digits of a float; a trillionth too much is none.
    """
    return math.ceil(round(seconds * 1000, 3))


def to_epoch_ms(instant: Instant, what: str = "an instant") -> int:
    """Return *instant* in milliseconds since 1970 (UTC).

    Raises:
        ValueError: a datetime without a time zone, or a number that is negative or absurd.
        TypeError: it is neither a number nor a datetime.
    """
    if isinstance(instant, bool) or not isinstance(instant, int | float | datetime):
        got = type(instant).__name__
        raise TypeError(f"{what} must be epoch seconds or an aware datetime, got {got}")
    if isinstance(instant, datetime):
        if instant.utcoffset() is None:
            raise ValueError(f"{what} must be an aware datetime, {instant!r} has no time zone")
        instant = instant.timestamp()
    return not_early_ms(to_seconds(instant, what))


def from_epoch_ms(epoch_ms: int) -> datetime:
    """Return the aware datetime of a stored instant."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)


def backoff_s(failures: int, first_s: float, longest_s: float) -> float:
    """Return the seconds to wait after *failures* in a row: doubled each time, with equal jitter.

    Half is kept and half drawn at random, so that many clients that failed together do not come
    back together (Brooker, "Exponential Backoff And Jitter", 2015).
    """
    # The exponent is bounded because 2.0 ** 1024 overflows.
    full = min(longest_s, first_s * 2.0 ** min(max(failures - 1, 0), 64))
    return full / 2 + random.uniform(0, full / 2)


class Deadline:
    """A moment on the local monotonic clock until which something may take.

    Args:
        timeout_s: seconds; None never ends.
        since: from when on, by the local monotonic clock; None: from now on.
    """

    __slots__ = ("at",)

    def __init__(self, timeout_s: float | None, since: float | None = None) -> None:
        began = time.monotonic() if since is None else since
        self.at = math.inf if timeout_s is None else began + timeout_s

    def left_s(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        """Return whether no time is left."""
        return time.monotonic() >= self.at
