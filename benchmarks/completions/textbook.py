"""The autocomplete of a well-known textbook, written from its description with redis-py.

A guild is a ZSET of names in the order of their letters. A search puts two marks into it, before
and behind all names with the prefix, looks up what lies between, and takes the marks away, under
`WATCH`, repeated until no other client has searched or joined meanwhile. Recent contacts are
a list that is read whole.
"""

from __future__ import annotations

import secrets
from string import ascii_lowercase
from typing import Any

import redis

LETTERS = f"`{ascii_lowercase}{{"
SHOWN = 10
KEPT = 100


def join(client: redis.Redis, guild: str, name: str) -> None:
    """Have *name* found in *guild*."""
    client.zadd(f"textbook:members:{guild}", {name: 0})


def search(client: redis.Redis, guild: str, prefix: str) -> list[str]:
    """Return the first names of *guild* with *prefix*, of small letters only."""
    key, mark = f"textbook:members:{guild}", secrets.token_hex(16)
    before = LETTERS[LETTERS.index(prefix[-1]) - 1]
    start, end = f"{prefix[:-1]}{before}{{{mark}", f"{prefix}{{{mark}"
    client.zadd(key, {start: 0, end: 0})
    with client.pipeline() as pipe:
        while True:
            try:
                pipe.watch(key)
                first, last = pipe.zrank(key, start), pipe.zrank(key, end)
                assert isinstance(first, int)
                assert isinstance(last, int)
                pipe.multi()
                pipe.zrem(key, start, end)
                pipe.zrange(key, first, min(first + SHOWN - 1, last - 2))
                found: Any = pipe.execute()[-1]
                break
            except redis.WatchError:
                continue
    return [name for name in found if "{" not in name]


def touch(client: redis.Redis, player: str, name: str) -> None:
    """Make *name* the latest contact of *player*."""
    key = f"textbook:recent:{player}"
    with client.pipeline() as pipe:
        pipe.lrem(key, 0, name)
        pipe.lpush(key, name)
        pipe.ltrim(key, 0, KEPT - 1)
        pipe.execute()


def contacts(client: redis.Redis, player: str, prefix: str) -> list[str]:
    """Return the contacts of *player* with *prefix*, the latest first."""
    names: Any = client.lrange(f"textbook:recent:{player}", 0, -1)
    return [name for name in names if name.lower().startswith(prefix)]
