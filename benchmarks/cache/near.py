"""Results in the memory of the process: nanoseconds per call, beside `functools.lru_cache`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from statistics import median
from typing import Any, Final

from holdfast import AsyncHoldfast, Holdfast, Near

from ..harness import BenchmarkRun, Case, comparison, interleaved
from ..report import Table, Target
from .contenders import TTL_S, Result, profile_of

COUNT: Final = 20_000
USERS: Final = 100
WARM_S: Final = 30.0

TARGET: Final = 3.0
"""Times `lru_cache` and building the key, which `lru_cache` does not do, together."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Call with a hundred arguments in turn; all results are in memory."""
    bench.server.clear()
    url = bench.server.url
    near = Near(share=True)
    with (
        Holdfast.from_url(url, namespace="benchmarks") as hf,
        asyncio.Runner() as runner,
    ):
        shared = hf.cached(ttl=TTL_S, name="shared", near=near)(profile_of)
        copied = hf.cached(ttl=TTL_S, name="copied", near=True)(profile_of)
        rows = hf.row_cache("profiles", source=_Profiles(), ttl=TTL_S, near=near)
        for function in (shared, copied, rows.get):
            _warm(function, (shared, copied, rows))
        ours = Case("holdfast, near=Near(share=True)", _each(shared))
        lru, key = Case("functools.lru_cache", _each(lru_cache(profile_of))), _key_case(shared)
        rivals = [
            lru,
            key,
            Case("holdfast, near=True (decoded each time)", _each(copied)),
            Case("holdfast, row_cache(near=Near(share=True)).get", _each(rows.get)),
            *_coroutines(runner, url),
        ]
        cases = [ours, *rivals]
        samples = interleaved(cases, bench.rounds, bench.scaled(COUNT), bench.server)
        hits, of_lru, of_key = (
            median(each.client_s or 0.0 for each in samples[case.name]) for case in (ours, lru, key)
        )
        what = "client's time, ours ÷ (lru_cache + building the key)"
        targets = [Target(what, hits / (of_lru + of_key), TARGET, at_least=False)]
        notes = [_refusal(url)]
        yield comparison("hits in memory", samples, ours, rivals, targets, notes)


class _Profiles:
    def load(self, ids: Any) -> dict[int, Result]:
        return {user_id: profile_of(user_id) for user_id in ids}


def _each(function: Callable[[int], object]) -> Callable[[int], None]:
    def work(count: int) -> None:
        for n in range(count):
            function(n % USERS)

    return work


def _key_case(function: Any) -> Case:
    cache = function._bound()
    return Case("building the key of a call", _each(lambda user_id: cache.key((user_id,), {})))


def _warm(function: Callable[[int], object], caches: tuple[Any, ...]) -> None:
    """Call *function* until all its results come from memory."""
    until = time.monotonic() + WARM_S
    while time.monotonic() < until:
        before = [cache.near_stats().hits for cache in caches]
        _each(function)(USERS)
        after = [cache.near_stats().hits for cache in caches]
        if sum(after) - sum(before) == USERS:
            return
    raise RuntimeError("results do not stay in memory")


def _coroutines(runner: asyncio.Runner, url: str) -> list[Case]:
    """Return the cases of asyncio: ours, and cashews if it is installed."""
    hf = AsyncHoldfast.from_url(url, namespace="benchmarks")

    @hf.cached(ttl=TTL_S, name="coroutine", near=Near(share=True))
    async def profile(user_id: int) -> dict[str, Any]:
        return profile_of(user_id)

    async def each(function: Any, count: int) -> None:
        for n in range(count):
            await function(n % USERS)

    async def warmed() -> None:
        while profile.near_stats().hits < USERS:
            await each(profile, USERS)

    runner.run(warmed())
    cases = [Case("holdfast, asyncio", lambda count: runner.run(each(profile, count)))]
    if find_spec("cashews"):
        from cashews import Cache

        cache = Cache()
        cache.setup(url, client_side=True)
        get = cache(ttl=TTL_S, key="near:{user_id}")(_profile)
        runner.run(cache.init())
        runner.run(each(get, 3 * USERS))
        cases.append(
            Case("cashews, client_side=True", lambda count: runner.run(each(get, count)), share=0.1)
        )
    return cases


async def _profile(user_id: int) -> Result:
    return profile_of(user_id)


def _refusal(url: str) -> str:
    """Return why redis-py's client-side cache does not take part."""
    import redis
    from redis.cache import CacheConfig

    try:
        with redis.Redis.from_url(url, protocol=3, cache_config=CacheConfig()) as client:
            client.ping()
    except redis.RedisError as error:
        return f"redis-py, client-side caching: {str(error).splitlines()[0]}"
    return "redis-py, client-side caching: it would work here, and is not measured"
