"""The contenders: each is a function that asks once whether a call may pass."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from typing import Any, Final

import limits.aio
import pyrate_limiter
import redis
import redis.asyncio

import limits
from holdfast import AsyncHoldfast, Holdfast, Limit

Ask = Callable[[str], bool]
AskAsync = Callable[[str], Awaitable[bool]]

FIXED: Final = """
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n <= tonumber(ARGV[1]) and 1 or 0
"""

SLIDING: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""


def holdfast(url: str, amount: int, per_s: int, ending: ExitStack) -> Ask:
    hf = ending.enter_context(Holdfast.from_url(url, namespace="benchmarks"))
    limiter = hf.rate_limit("api", Limit(amount, per=float(per_s)))
    return lambda subject: limiter.of(subject).try_acquire().allowed


def _limits(kind: Any) -> Callable[[str, int, int, ExitStack], Ask]:
    def contender(url: str, amount: int, per_s: int, _ending: ExitStack) -> Ask:
        limiter = kind(limits.storage.RedisStorage(url, key_prefix=kind.__name__))
        item = limits.RateLimitItemPerSecond(amount, per_s)
        return lambda subject: bool(limiter.hit(item, subject))

    return contender


def pyrate(url: str, amount: int, per_s: int, ending: ExitStack) -> Ask:
    client = ending.enter_context(redis.Redis.from_url(url))
    rates = [pyrate_limiter.Rate(amount, per_s * 1000)]
    buckets: dict[str, Any] = {}

    def ask(subject: str) -> bool:
        limiter = buckets.get(subject)
        if limiter is None:
            bucket: Any = pyrate_limiter.RedisBucket.init(rates, client, f"pyrate:{subject}")
            limiter = buckets[subject] = pyrate_limiter.Limiter(bucket)
        return bool(limiter.try_acquire(subject, blocking=False))

    return ask


def _script(source: str) -> Callable[[str, int, int, ExitStack], Ask]:
    def contender(url: str, amount: int, per_s: int, ending: ExitStack) -> Ask:
        script = ending.enter_context(redis.Redis.from_url(url)).register_script(source)

        def ask(subject: str) -> bool:
            member = secrets.token_hex(6)
            return bool(script([f"hand:{len(source)}:{subject}"], [amount, per_s * 1000, member]))

        return ask

    return contender


BLOCKING: Final[Mapping[str, Callable[[str, int, int, ExitStack], Ask]]] = {
    "holdfast": holdfast,
    "limits, fixed window (slowapi)": _limits(limits.strategies.FixedWindowRateLimiter),
    "limits, moving window": _limits(limits.strategies.MovingWindowRateLimiter),
    "limits, sliding counter": _limits(limits.strategies.SlidingWindowCounterRateLimiter),
    "pyrate-limiter": pyrate,
    "by hand, fixed window": _script(FIXED),
    "by hand, sorted set": _script(SLIDING),
}


def holdfast_async(hf: AsyncHoldfast, amount: int, per_s: int) -> AskAsync:
    limiter = hf.rate_limit("api", Limit(amount, per=float(per_s)))

    async def ask(subject: str) -> bool:
        return (await limiter.of(subject).try_acquire()).allowed

    return ask


def limits_async(url: str, kind: Any, amount: int, per_s: int) -> AskAsync:
    storage = limits.aio.storage.RedisStorage(
        f"async+{url}", implementation="redispy", key_prefix=kind.__name__
    )
    limiter, item = kind(storage), limits.RateLimitItemPerSecond(amount, per_s)

    async def ask(subject: str) -> bool:
        return bool(await limiter.hit(item, subject))

    return ask


def script_async(client: Any, source: str, amount: int, per_s: int) -> AskAsync:
    script = client.register_script(source)

    async def ask(subject: str) -> bool:
        member = f"{time.monotonic_ns():x}{secrets.token_hex(2)}"
        return bool(await script([f"hand:{len(source)}:{subject}"], [amount, per_s * 1000, member]))

    return ask
