"""The lock and the semaphore that everybody writes first, to show that the checkers catch them.

The lock is SETNX with an expiry (Redis in Action, section 6.2.5); the semaphore is a ZSET of who
came when, by the clock of whoever asks (section 6.3.1). Neither tells a holder that its time is
over, and the semaphore counts before it knows whether it may.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import redis


class Belief:
    """What a holder of such a lock has: it believes until it gives the place back."""

    lost = False

    def __init__(self) -> None:
        self.fence = time.monotonic_ns()
        self.remaining = 60.0


def seed_lock(client: redis.Redis, key: str, plan: Any, member: str) -> Callable[[], None]:
    """Take the lock; the answer gives it back."""
    while not client.set(key, member, nx=True, px=round(plan.lease * 1000)):
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


def seed_semaphore(client: redis.Redis, key: str, plan: Any, member: str) -> Callable[[], None]:
    """Take a place; the answer gives it back."""
    while True:
        now = time.time()
        with client.pipeline(transaction=True) as pipe:
            pipe.zremrangebyscore(key, "-inf", now - plan.lease)
            pipe.zadd(key, {member: now})
            pipe.zrank(key, member)
            rank = pipe.execute()[-1]
        if rank < plan.limit:
            return lambda: client.zrem(key, member)
        client.zrem(key, member)
        time.sleep(0.001)


def _cycle(take: Callable[..., Callable[[], None]]) -> Callable[..., None]:
    def cycle(hf: Any, plan: Any, diary: Any) -> None:
        del hf
        with redis.Redis.from_url(plan.url) as client, _named(diary) as member:
            with diary.acquiring() as op:
                release = take(client, f"{plan.namespace}:seed", plan, member)
                diary.granted(op, Belief())
            time.sleep(plan.hold_s)
            with diary.releasing():
                release()

    return cycle


@contextlib.contextmanager
def _named(diary: Any) -> Iterator[str]:
    yield f"{diary._holder}:{time.monotonic_ns()}"


CYCLES = {"seed lock": _cycle(seed_lock), "seed semaphore": _cycle(seed_semaphore)}
