"""Define the options and the statistics of a near cache."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ..clock import Duration, to_seconds

MAX_BYTES: Final = 64 * 2**20
MAX_AGE_S: Final = 60.0

_LEAST_BYTES: Final = 64 * 2**10
_MOST_BYTES: Final = 2**40


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """Hold the options of a near cache: values in the memory of this process.

    Attributes:
        max_bytes: approximate maximum bytes of all values, with their keys and the memory that the
            cache itself needs for them.
        max_age: seconds (or a timedelta) after which a value is read from the server again, even
            if the server has not reported a change.
        share: whether all readers get the same object. It is faster, but a reader that changes the
            object changes it for all others. If False, each reader gets a new object, except for
            texts, numbers and other values that cannot be changed.
    """

    max_bytes: int = MAX_BYTES
    max_age: Duration = MAX_AGE_S
    share: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.max_bytes, bool) or not isinstance(self.max_bytes, int):
            raise TypeError(f"max_bytes must be an int, got {type(self.max_bytes).__name__}")
        if not _LEAST_BYTES <= self.max_bytes <= _MOST_BYTES:
            raise ValueError(
                f"max_bytes must be {_LEAST_BYTES:,} to {_MOST_BYTES:,}, got {self.max_bytes:,}"
            )
        if to_seconds(self.max_age, "max_age") == 0:
            raise ValueError("max_age must be longer than 0 seconds")


class NearStats(msgspec.Struct, frozen=True, kw_only=True):
    """Report what a near cache did in this process since the client was made.

    Attributes:
        hits: number of values that were served from memory.
        server_hits: number of values that were read from the server.
        loads: number of values that the server did not have, so that they were loaded.
        unconfirmed: how many of the reads from the server were necessary only because the
            invalidation connection was not confirmed, although a value was in memory.
        stored: number of values that were put into memory.
        refused: number of values that were not put into memory, because they were invalidated
            while they were read.
        invalidated: number of values in memory that the server or this process invalidated.
        evicted: number of values that were removed because the memory was full.
        entries: number of values in memory.
        bytes: approximate bytes of these values.
        max_bytes: maximum of `bytes`.
        confirmed: whether values may be served now.
        staleness: seconds since the start of the last confirmed ping, which is the largest time by
            which a value that is served now may be older than the server's value; None if no value
            may be served now.
        longest_staleness: the largest `staleness` with which a value could have been served so far.
        problem: why no values may be served; empty if they may.
    """

    hits: int = 0
    server_hits: int = 0
    loads: int = 0
    unconfirmed: int = 0
    stored: int = 0
    refused: int = 0
    invalidated: int = 0
    evicted: int = 0
    entries: int = 0
    bytes: int = 0
    max_bytes: int = 0
    confirmed: bool = False
    staleness: float | None = None
    longest_staleness: float = 0.0
    problem: str = ""


NO_NEAR: Final = NearStats(problem="this object was made without near=")


def checked_near(near: Any) -> Near | None:
    """Return the options that a user gives as `near=`.

    Raises:
        TypeError: *near* is neither a bool, None nor `Near`.
    """
    if near is None or near is False:
        return None
    if near is True:
        return Near()
    if not isinstance(near, Near):
        raise TypeError(f"near must be True, False or Near(…), got {type(near).__name__}")
    return near
