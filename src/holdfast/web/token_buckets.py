"""Limit the rate of each of many names in one process, while the server cannot count."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from .. import Limit

MAX_NAMES: Final = 10_000
"""Names that are remembered. The least recently used name is dropped first."""


class TokenBuckets:
    """Limits the rate of each of many names with a token bucket.

    A bucket holds as many tokens as the amount of the limit. An empty bucket is full again after
    the period of the limit.

    Args:
        limit: the limit of each name.
        clock: returns monotonic seconds.
    """

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(limit.amount)
        self._per_second = limit.amount * 1000 / limit.per_ms
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, cost: int = 1) -> float:
        """Take *cost* from the bucket of *name*. Return 0.0, or the seconds until it has enough.

        Take nothing if the bucket has too little. A cost above the amount needs a full bucket and
        makes its content negative.
        """
        now = self._clock()
        tokens, at = self._buckets.get(name, (self._most, now))
        tokens = min(self._most, tokens + (now - at) * self._per_second)
        missing = max(0.0, min(cost, self._most) - tokens)
        self._buckets[name] = (tokens if missing else tokens - cost, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > MAX_NAMES:
            self._buckets.popitem(last=False)
        return missing / self._per_second
