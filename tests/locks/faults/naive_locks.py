"""A naive lock and a naive semaphore, to show that the checkers find their errors.

The lock is SETNX with an expiry (Redis in Action, section 6.2.5). The semaphore is a ZSET of
holders, scored by the time of their own clocks (section 6.3.1). A holder of either does not notice
that its lease has ended. The semaphore counts a client before it knows whether a permit is free.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import redis


class NaiveLease:
    """The lease of a naive lock: its holder believes in it until the release."""

    lost = False

    def __init__(self) -> None:
        self.fence = time.monotonic_ns()
        self.remaining = 60.0


def naive_lock(client: redis.Redis, key: str, options: Any, member: str) -> Callable[[], None]:
    """Take the lock; return the function that releases it."""
    while not client.set(key, member, nx=True, px=round(options.lease * 1000)):
        time.sleep(0.001)

    def release() -> None:
        with client.pipeline() as pipe:
            pipe.watch(key)
            if pipe.get(key) == member.encode():
                pipe.multi()
                pipe.delete(key)
                with contextlib.suppress(redis.WatchError):
                    pipe.execute()

    return release


def naive_semaphore(client: redis.Redis, key: str, options: Any, member: str) -> Callable[[], None]:
    """Take a permit; return the function that releases it."""
    while True:
        now = time.time()
        with client.pipeline(transaction=True) as pipe:
            pipe.zremrangebyscore(key, "-inf", now - options.lease)
            pipe.zadd(key, {member: now})
            pipe.zrank(key, member)
            rank = pipe.execute()[-1]
        if rank < options.limit:
            return lambda: client.zrem(key, member)
        client.zrem(key, member)
        time.sleep(0.001)


def _cycle(take: Callable[..., Callable[[], None]]) -> Callable[..., None]:
    def cycle(hf: Any, options: Any, log: Any) -> None:
        del hf
        with redis.Redis.from_url(options.url) as client, _named(log) as member:
            with log.acquiring() as op:
                release = take(client, f"{options.namespace}:naive", options, member)
                log.granted(op, NaiveLease())
            time.sleep(options.hold_s)
            with log.releasing():
                release()

    return cycle


@contextlib.contextmanager
def _named(log: Any) -> Iterator[str]:
    yield f"{log.holder}:{time.monotonic_ns()}"


CYCLES = {"naive lock": _cycle(naive_lock), "naive semaphore": _cycle(naive_semaphore)}
