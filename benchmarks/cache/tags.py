"""100,000 results with one tag: the time to invalidate them, and the memory of a result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any, Final

import redis

from holdfast import AsyncHoldfast

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target
from .contenders import ASYNC, Coroutine, Result, profile_of

VALUES: Final = 100_000
AT_ONCE: Final = 8


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Fill, measure the memory of the server, and invalidate by the tag."""
    values = 10_000 if bench.quick else VALUES
    rows: list[list[Cell]] = []
    for name in ASYNC:
        bench.server.clear()
        rows.append([name, *asyncio.run(_measured(bench, name, values))])
    ours = rows[0][1]
    assert isinstance(ours, float)
    yield Table(
        f"{values:,} results with one tag",
        ("case", "bytes each", "invalidation ms", "filling s"),
        rows,
        [Target("holdfast, bytes of a result", ours, 400.0, at_least=False)],
        ["aiocache and fastapi-cache2 have no tags: they clear a namespace with KEYS or a scan"],
    )


async def _measured(bench: BenchmarkRun, name: str, values: int) -> list[Cell]:
    url = bench.server.url
    async with AsyncHoldfast.from_url(url, namespace="benchmarks") as hf:

        async def function(user_id: int) -> Result:
            return profile_of(user_id)

        cached: Any = await ASYNC[name](url, function, hf)
        await cached(-1)
        with redis.Redis.from_url(url) as client:
            before, began = _used(client), time.perf_counter()
            await _fill(cached, values)
            filling_s, used = time.perf_counter() - began, (_used(client) - before) / values
            began = time.perf_counter()
            await _invalidate(name, cached, hf)
            return [used, 1000 * (time.perf_counter() - began), filling_s]


async def _fill(cached: Coroutine, values: int) -> None:
    async def caller(first: int) -> None:
        for n in range(first, values, AT_ONCE):
            await cached(n)

    await asyncio.gather(*(caller(first) for first in range(AT_ONCE)))


async def _invalidate(name: str, cached: Any, hf: AsyncHoldfast) -> None:
    match name:
        case "holdfast":
            await hf.invalidate_tags("profiles")
        case "cashews":
            await cached.cache.delete_tags("profiles")
        case "fastapi-cache2":
            from fastapi_cache import FastAPICache

            await FastAPICache.clear()
        case _:
            await cached.cache.clear(namespace="aiocache")


def _used(client: Any) -> float:
    return float(client.info("memory")["used_memory"])
