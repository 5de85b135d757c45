"""What a well-known textbook builds step by step, written from its description with redis-py.

The lock is `SETNX`, then `EXPIRE`, polled every millisecond, and given back under `WATCH`. Three
semaphores follow: `basic` ranks who came when, by everyone's own clock; `fair` ranks by a counter
of the server; `locked` is the fair one with a lock around each attempt. Only the last one keeps its
limit.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis

from ..contender import Blocking, Brief, Hold, take_part

POLL_S = 0.001
PATIENCE_S = 10.0
SHORT_PATIENCE_S = 0.01
"""Given to the lock around an attempt at a semaphore."""


class Seed(Blocking):
    """The lock, and the semaphore that `kind` names."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        kinds = {"basic": Basic, "fair": Fair, "locked": Locked}
        self._kind = kinds[brief.options.get("kind", "locked")]

    def lock(self, name: str) -> Hold:
        return SeedLock(self._client(), name, self.brief.lease_s).hold

    def semaphore(self, name: str, limit: int) -> Hold:
        return self._kind(self._client(), name, limit, self.brief.lease_s).hold

    def _client(self) -> redis.Redis:
        url = self.brief.url
        return redis.Redis.from_url(url, single_connection_client=True, decode_responses=True)


class SeedLock:
    """A key that exists while the lock is held, with the holder's token; *lease_s* at most."""

    def __init__(self, client: redis.Redis, name: str, lease_s: int | None = None) -> None:
        self._client = client
        self._key = f"lock:{name}"
        self._lease_s = lease_s

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Poll until it is free."""
        token = None
        while token is None:
            token = self.token_within(PATIENCE_S)
        try:
            yield
        finally:
            self.give_back(token)

    def token_within(self, patience_s: float) -> str | None:
        """Try for a while; None when it was never free."""
        token, until_s = str(uuid.uuid4()), time.monotonic() + patience_s
        while time.monotonic() < until_s:
            if self._client.setnx(self._key, token):
                if self._lease_s is not None:
                    self._client.expire(self._key, self._lease_s)
                return token
            # Its holder may have died between the two commands.
            if self._lease_s is not None and self._client.ttl(self._key) == -1:
                self._client.expire(self._key, self._lease_s)
            time.sleep(POLL_S)
        return None

    def give_back(self, token: str) -> None:
        """Delete the key, unless another holder has it by now."""
        pipe: Any
        with self._client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(self._key)
                    if pipe.get(self._key) != token:
                        return
                    pipe.multi()
                    pipe.delete(self._key)
                    pipe.execute()
                except redis.WatchError:
                    continue
                return


class Basic:
    """A sorted set of tokens by the time of their owners; the first so many are in."""

    def __init__(self, client: redis.Redis, name: str, limit: int, lease_s: int) -> None:
        self._client = client
        self._times = name
        self._limit = limit
        self._lease_s = lease_s

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Poll until there is a place."""
        while (token := self.attempt()) is None:
            time.sleep(POLL_S)
        try:
            yield
        finally:
            self.give_back(token)

    def attempt(self) -> str | None:
        """Join the queue, read the rank, and leave again if it is too high."""
        token, now_s = str(uuid.uuid4()), time.time()
        with self._client.pipeline() as pipe:
            pipe.zremrangebyscore(self._times, "-inf", now_s - self._lease_s)
            pipe.zadd(self._times, {token: now_s})
            pipe.zrank(self._times, token)
            rank = pipe.execute()[-1]
        if rank < self._limit:
            return token
        self.give_back(token)
        return None

    def give_back(self, token: str) -> None:
        """Leave."""
        self._client.zrem(self._times, token)


class Fair(Basic):
    """Ranked by a counter; the times only say who is too old."""

    def __init__(self, client: redis.Redis, name: str, limit: int, lease_s: int) -> None:
        super().__init__(client, name, limit, lease_s)
        self._ranks = f"{name}:owner"
        self._counter = f"{name}:counter"

    def attempt(self) -> str | None:
        token, now_s = str(uuid.uuid4()), time.time()
        with self._client.pipeline() as pipe:
            pipe.zremrangebyscore(self._times, "-inf", now_s - self._lease_s)
            pipe.zinterstore(self._ranks, {self._ranks: 1, self._times: 0})
            pipe.incr(self._counter)
            count = pipe.execute()[-1]
            pipe.zadd(self._times, {token: now_s})
            pipe.zadd(self._ranks, {token: count})
            pipe.zrank(self._ranks, token)
            rank = pipe.execute()[-1]
        if rank < self._limit:
            return token
        self.give_back(token)
        return None

    def give_back(self, token: str) -> None:
        with self._client.pipeline() as pipe:
            pipe.zrem(self._times, token)
            pipe.zrem(self._ranks, token)
            pipe.execute()


class Locked(Fair):
    """The fair one, one attempt at a time. The lock has no expiry, as in the textbook's listing."""

    def __init__(self, client: redis.Redis, name: str, limit: int, lease_s: int) -> None:
        super().__init__(client, name, limit, lease_s)
        self._lock = SeedLock(client, name)

    def attempt(self) -> str | None:
        if (held := self._lock.token_within(SHORT_PATIENCE_S)) is None:
            return None
        try:
            return super().attempt()
        finally:
            self._lock.give_back(held)


if __name__ == "__main__":
    take_part(Seed)
