"""Convert and measure times.

Public methods accept seconds and datetimes; internal code uses whole milliseconds. Three clocks:

- Instants that the server stores are read from the server's clock (`TIME` inside scripts).
- Local waits are measured with the local monotonic clock.
- The end of a lease is computed with `since_boot`, because the server's time passes even while
  this machine is suspended.
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
"""Longest duration and latest instant: about 4,460 years. A double represents it exactly."""


def since_boot() -> float:
    """Return the seconds of a clock that is never set, and runs while the machine is suspended."""
    if sys.platform == "linux":  # On Linux the monotonic clock stops during a suspension.
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


def to_seconds(duration: Duration, what: str = "a duration") -> float:
    """Return *duration* in seconds, zero or more.

    Raises:
        ValueError: *duration* is negative, not a number, or longer than `MAX_MS`.
        TypeError: *duration* is neither a number nor a timedelta.
    """
    if isinstance(duration, timedelta):
        duration = duration.total_seconds()
    if isinstance(duration, bool) or not isinstance(duration, int | float):
        raise TypeError(f"{what} must be seconds or a timedelta, got {type(duration).__name__}")
    if not 0 <= duration <= MAX_MS / 1000:  # NaN is refused too.
        raise ValueError(f"{what} must be 0 seconds or more and finite, got {duration!r}")
    return float(duration)


def to_timeout_s(timeout: Duration | None) -> float | None:
    """Return *timeout* in seconds; None means no limit. Raise as `to_seconds`."""
    return None if timeout is None else to_seconds(timeout, "timeout")


def to_ms(duration: Duration, what: str = "a duration") -> int:
    """Return *duration* in whole milliseconds, at least one.

    Raises:
        ValueError: *duration* is not positive, or longer than `MAX_MS`.
        TypeError: *duration* is neither a number nor a timedelta.
    """
    seconds = to_seconds(duration, what)
    if seconds == 0:
        raise ValueError(f"{what} must be longer than 0 seconds")
    return max(1, round(seconds * 1000))


def not_early_ms(seconds: float) -> int:
    """Return *seconds* in whole milliseconds, rounded up, so that a waiter does not wake early.

    Ignore less than half a microsecond, because it may be a rounding error of the float.
    """
    return math.ceil(round(seconds * 1000, 3))


def to_epoch_ms(instant: Instant, what: str = "an instant") -> int:
    """Return *instant* in milliseconds since 1970 (UTC), rounded up, so that nothing begins early.

    Raises:
        ValueError: *instant* is a datetime without a time zone, or is out of range.
        TypeError: *instant* is neither a number nor a datetime.
    """
    return not_early_ms(_to_epoch_seconds(instant, what))


def to_event_ms(instant: Instant, what: str = "an instant") -> int:
    """Return *instant* in milliseconds since 1970 (UTC), rounded down.

    So an event just before the end of a second is not counted in the next second. Raise as
    `to_epoch_ms`.
    """
    return math.floor(round(_to_epoch_seconds(instant, what) * 1000, 3))


def _to_epoch_seconds(instant: Instant, what: str) -> float:
    if isinstance(instant, bool) or not isinstance(instant, int | float | datetime):
        got = type(instant).__name__
        raise TypeError(f"{what} must be epoch seconds or an aware datetime, got {got}")
    if isinstance(instant, datetime):
        if instant.utcoffset() is None:
            raise ValueError(f"{what} must be an aware datetime, {instant!r} has no time zone")
        instant = instant.timestamp()
    return to_seconds(instant, what)


def from_epoch_ms(epoch_ms: int) -> datetime:
    """Return the aware datetime (UTC) of *epoch_ms*, milliseconds since 1970."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC)


def backoff_s(failures: int, first_s: float, longest_s: float) -> float:
    """Return the seconds to wait after *failures* in a row: exponential backoff with equal jitter.

    The result is between half the full pause and the full pause, at random, so that clients that
    failed together do not repeat together (Brooker, "Exponential Backoff And Jitter", 2015).

    Args:
        failures: number of failures in a row.
        first_s: full pause after the first failure, in seconds; each further failure doubles it.
        longest_s: longest full pause, in seconds.
    """
    # Limit the exponent, because 2.0 ** 1024 overflows.
    full = min(longest_s, first_s * 2.0 ** min(max(failures - 1, 0), 64))
    return full / 2 + random.uniform(0, full / 2)


class Deadline:
    """The end of a timeout, on the local monotonic clock.

    Args:
        timeout_s: the timeout in seconds; None: no limit.
        since: local monotonic time at which the timeout begins; None: now.
    """

    __slots__ = ("at",)

    def __init__(self, timeout_s: float | None, since: float | None = None) -> None:
        began = time.monotonic() if since is None else since
        self.at: float = math.inf if timeout_s is None else began + timeout_s

    def left_s(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        """Return whether no time is left."""
        return time.monotonic() >= self.at
