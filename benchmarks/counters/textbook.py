"""The counters of a well-known textbook, written from its description with redis-py.

A hash for each precision, and a ZSET of all that a cleaner has to go through; the cleaner is left
out here, so nothing ever vanishes.
"""

from __future__ import annotations

import time
from typing import Any

import redis
import redis.asyncio

PRECISIONS = (1, 5, 60, 300, 3600, 18_000, 86_400)


def add(client: redis.Redis, name: str, count: int = 1) -> None:
    """Count in all precisions, in one transaction."""
    with client.pipeline() as pipe:
        _queue(pipe, name, count)
        pipe.execute()


async def add_async(client: redis.asyncio.Redis, name: str, count: int = 1) -> None:
    """Count on asyncio."""
    async with client.pipeline() as pipe:
        _queue(pipe, name, count)
        await pipe.execute()


def _queue(pipe: Any, name: str, count: int) -> None:
    now = time.time()
    for precision in PRECISIONS:
        bucket, kind = int(now / precision) * precision, f"{precision}:{name}"
        pipe.zadd("textbook:known", {kind: 0})
        pipe.hincrby(f"textbook:count:{kind}", str(bucket), count)
