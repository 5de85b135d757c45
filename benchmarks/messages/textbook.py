"""The chat of a well-known textbook, written from its description with redis-py.

Messages lie in a ZSET by their number. The number comes from a counter, and a lock around both
keeps them in order. Each member has its place in a ZSET of the chat, and in one of its own for all
its chats. Who fetches has thereby read, and what all have read is removed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

import redis

from ..leases.contenders.seed import SeedLock

_PATIENCE_S = 10.0


def send(client: redis.Redis, chat: str, sender: str, message: str) -> None:
    """Send *message* to *chat*."""
    lock = SeedLock(client, f"textbook:{chat}")
    token = lock.token_within(_PATIENCE_S)
    if token is None:
        raise TimeoutError(f"could not get the lock of {chat}")
    try:
        number: Any = client.incr(f"textbook:ids:{chat}")
        packed = {"id": number, "ts": time.time(), "sender": sender, "message": message}
        client.zadd(f"textbook:msgs:{chat}", {json.dumps(packed): number})
    finally:
        lock.give_back(token)


def place(client: redis.Redis, user: str, chats: Iterable[str], number: int) -> None:
    """Let *user* be a member of *chats*, who has read up to *number*."""
    with client.pipeline() as pipe:
        for chat in chats:
            pipe.zadd(f"textbook:chat:{chat}", {user: number})
            pipe.zadd(f"textbook:seen:{user}", {chat: number})
        pipe.execute()


def fetch(client: redis.Redis, user: str) -> list[tuple[str, list[Any]]]:
    """Return what *user* has not read, by chat."""
    seen: Any = client.zrange(f"textbook:seen:{user}", 0, -1, withscores=True)
    with client.pipeline() as pipe:
        for chat, number in seen:
            pipe.zrangebyscore(f"textbook:msgs:{chat}", number + 1, "inf")
        found = zip(seen, pipe.execute(), strict=True)
        news = [(chat, list(map(json.loads, packed))) for (chat, _), packed in found if packed]
        for chat, messages in news:
            number = messages[-1]["id"]
            client.zadd(f"textbook:chat:{chat}", {user: number})
            low: Any = client.zrange(f"textbook:chat:{chat}", 0, 0, withscores=True)
            pipe.zadd(f"textbook:seen:{user}", {chat: number})
            pipe.zremrangebyscore(f"textbook:msgs:{chat}", 0, low[0][1])
        pipe.execute()
    return news
