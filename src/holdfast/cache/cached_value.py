"""Present a stored result to users."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

R = TypeVar("R")


class CachedValue(msgspec.Struct, Generic[R], frozen=True):
    """A stored result that `peek` returns.

    Attributes:
        value: the result.
        age: seconds since it was stored, by the server's clock.
        state: `fresh`, or `stale` if it is older than its `ttl`.
    """

    value: R
    age: float
    state: Literal["fresh", "stale"]
