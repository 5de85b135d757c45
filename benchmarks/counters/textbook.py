"""The counters of a well-known textbook, written from its description with redis-py.

A hash for each precision, and a ZSET of all that a cleaner has to go through; the cleaner is left
out here, so nothing ever vanishes.
"""

from __future__ import annotations

import time

import redis

PRECISIONS = (1, 5, 60, 300, 3600, 18_000, 86_400)


def add(client: redis.Redis, name: str, count: int = 1) -> None:
    """Count in all precisions, in one transaction."""
    now = time.time()
    with client.pipeline() as pipe:
        for precision in PRECISIONS:
            bucket, kind = int(now / precision) * precision, f"{precision}:{name}"
            pipe.zadd("textbook:known", {kind: 0})
            pipe.hincrby(f"textbook:count:{kind}", str(bucket), count)
        pipe.execute()
