"""The contenders: each caches the same function, and is called with its argument."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, Final

import redis

from holdfast import AsyncHoldfast, Holdfast

TTL_S: Final = 3600

Result = dict[str, Any]
Function = Callable[[int], Result]
Coroutine = Callable[[int], Awaitable[Result]]


def profile_of(user_id: int) -> Result:
    """Return what is cached: a small JSON object."""
    return {"id": user_id, "name": f"user {user_id}", "tags": ["a", "b"], "score": 1.5}


def holdfast(url: str, function: Function, ending: ExitStack) -> Function:
    hf = ending.enter_context(Holdfast.from_url(url, namespace="benchmarks"))

    def profile(user_id: int) -> dict[str, Any]:
        return function(user_id)

    return hf.cached(ttl=TTL_S, name="profile", tags=["profiles"])(profile)


def dogpile(url: str, function: Function, _ending: ExitStack) -> Function:
    from dogpile.cache import make_region

    region = make_region().configure(
        "dogpile.cache.redis",
        expiration_time=TTL_S,
        arguments={"url": url, "distributed_lock": True, "lock_timeout": 10},
    )
    cached: Function = region.cache_on_arguments(namespace="profile")(function)
    return cached


def redis_client_side(url: str, function: Function, ending: ExitStack) -> Function:
    """Refused by Valkey: redis-py checks the name of the server."""
    import json

    from redis.cache import CacheConfig

    client = redis.Redis.from_url(url, protocol=3, cache_config=CacheConfig())
    ending.callback(client.close)

    def cached(user_id: int) -> Result:
        stored = client.get(f"client-side:{user_id}")
        if stored is None:
            found = function(user_id)
            client.set(f"client-side:{user_id}", json.dumps(found), ex=TTL_S)
            return found
        value: Result = json.loads(stored)
        return value

    cached(0)
    return cached


def in_process(_url: str, function: Function, _ending: ExitStack) -> Function:
    """Cache in one process; no other process can invalidate it."""
    return lru_cache(maxsize=None)(function)


BLOCKING: Final[dict[str, Callable[[str, Function, ExitStack], Function]]] = {
    "holdfast": holdfast,
    "dogpile.cache, cache_on_arguments": dogpile,
    "redis-py, client-side caching": redis_client_side,
    "functools.lru_cache (one process)": in_process,
}


async def holdfast_async(_url: str, function: Coroutine, hf: AsyncHoldfast) -> Coroutine:
    async def profile(user_id: int) -> dict[str, Any]:
        return await function(user_id)

    return hf.cached(ttl=TTL_S, name="profile", tags=["profiles"])(profile)


async def cashews(url: str, function: Coroutine, _hf: AsyncHoldfast) -> Coroutine:
    from cashews import Cache

    cache = Cache()
    cache.setup(url, client_side=False)
    await cache.init()

    async def profile(user_id: int) -> Result:
        return await function(user_id)

    decorate = cache(ttl=TTL_S, key="profile:{user_id}", lock=True, tags=["profiles"])
    cached: Any = decorate(profile)
    cached.cache = cache  # for the benchmark of tags
    found: Coroutine = cached
    return found


async def aiocache(url: str, function: Coroutine, _hf: AsyncHoldfast) -> Coroutine:
    import aiocache
    from aiocache.serializers import JsonSerializer

    host, port = url.removeprefix("redis://").split(":")

    async def profile(user_id: int) -> Result:
        return await function(user_id)

    options: dict[str, Any] = {
        "ttl": TTL_S,
        "cache": aiocache.Cache.REDIS,
        "endpoint": host,
        "port": int(port),
        "serializer": JsonSerializer(),
        "namespace": "aiocache",
    }
    cached: Coroutine = aiocache.cached_stampede(lease=10, **options)(profile)
    return cached


async def fastapi_cache(url: str, function: Coroutine, _hf: AsyncHoldfast) -> Coroutine:
    import redis.asyncio
    from fastapi_cache import FastAPICache
    from fastapi_cache.backends.redis import RedisBackend
    from fastapi_cache.decorator import cache

    FastAPICache.init(RedisBackend(redis.asyncio.from_url(url)), prefix="fastapi-cache")

    async def profile(user_id: int) -> Result:
        return await function(user_id)

    cached: Coroutine = cache(expire=TTL_S)(profile)
    return cached


ASYNC: Final[dict[str, Callable[[str, Coroutine, AsyncHoldfast], Awaitable[Coroutine]]]] = {
    "holdfast": holdfast_async,
    "cashews": cashews,
    "aiocache, cached_stampede": aiocache,
    "fastapi-cache2": fastapi_cache,
}
