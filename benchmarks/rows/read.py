"""Rows that the cache has, one at a time and a hundred together; and rows that it has not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any, Final

import redis
import sqlalchemy as sa

from holdfast import Holdfast, SqlRows

from ..harness import BenchmarkRun, Case
from ..report import Table
from .database import ROWS, STOCK, sqlite

COUNT: Final = 2_000
TOGETHER: Final = 100

Load = Callable[[Sequence[int]], dict[int, dict[str, Any]]]


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Beside plain redis-py, dogpile.cache and cashews, where these are installed."""
    bench.server.clear()
    with (
        sqlite() as engine,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
        redis.Redis.from_url(bench.server.url) as client,
        asyncio.Runner() as runner,
    ):
        source = SqlRows(engine, STOCK, key="id")
        cache = hf.row_cache("stock", source=source, ttl=100_000)
        cache.get_many(range(ROWS))
        load = _load(engine)
        for row_id, row in load(range(ROWS)).items():
            client.set(f"plain:{row_id}", json.dumps(row))

        def plain(row_id: int) -> object:
            return json.loads(client.get(f"plain:{row_id}") or b"null")

        title = "get a row that is cached, one thread"
        ours = Case("holdfast, get", _each(cache.get))
        rivals = [Case("redis-py GET + json.loads", _each(plain))]
        rivals += _cached(bench, runner, load)
        yield bench.compared(title, ours, rivals, COUNT, target=0.8)

        title = "a hundred cached rows together"
        ours = Case("holdfast, get_many(100)", _hundreds(cache.get_many))
        rivals = [Case("holdfast, get", _each(cache.get), share=0.2)]
        yield bench.compared(title, ours, rivals, 5 * COUNT, target=10.0)

        title = "a hundred rows that are not cached, loaded together"
        ours = Case("holdfast, get_many(100)", _hundreds(cache.get_many), _cold(cache.invalidate))
        yield bench.compared(title, ours, _missed(bench, runner, load), COUNT)


def _load(engine: sa.Engine) -> Load:
    def load(ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        with engine.connect() as connection:
            rows = connection.execute(sa.select(STOCK).where(STOCK.c.id.in_(list(ids))))
            return {row.id: row._asdict() for row in rows}

    return load


def _each(get: Callable[[int], object]) -> Callable[[int], None]:
    def read(count: int) -> None:
        for n in range(count):
            get(n % ROWS)

    return read


def _hundreds(get_many: Callable[[Sequence[int]], object]) -> Callable[[int], None]:
    def read(count: int) -> None:
        for start in range(0, count, TOGETHER):
            first = start % ROWS
            get_many(range(first, min(ROWS, first + TOGETHER)))

    return read


def _cold(invalidate: Callable[..., object]) -> Callable[[int], None]:
    def forget(count: int) -> None:
        for start in range(0, min(count, ROWS), 500):
            invalidate(*range(start, start + 500))

    return forget


def _region(bench: BenchmarkRun) -> Any:
    from dogpile.cache import make_region

    return make_region().configure(
        "dogpile.cache.redis",
        arguments={"url": bench.server.url, "distributed_lock": True, "lock_timeout": 10},
    )


def _cached(bench: BenchmarkRun, runner: asyncio.Runner, load: Load) -> list[Case]:
    """Rivals with all rows cached."""
    cases = []
    if find_spec("dogpile"):
        region = _region(bench)
        region.set_multi({f"dogpile {n}": row for n, row in load(range(ROWS)).items()})
        cases.append(Case("dogpile.cache, region.get", _each(lambda n: region.get(f"dogpile {n}"))))
    if find_spec("cashews"):
        from cashews import Cache

        cashews = Cache()
        cashews.setup(bench.server.url, client_side=False)

        async def fill() -> None:
            await cashews.init()
            for n, row in load(range(ROWS)).items():
                await cashews.set(f"cashews {n}", row)

        async def read(count: int) -> None:
            for n in range(count):
                await cashews.get(f"cashews {n % ROWS}")

        runner.run(fill())
        cases.append(Case("cashews, get, asyncio", lambda count: runner.run(read(count))))
    return cases


def _missed(bench: BenchmarkRun, runner: asyncio.Runner, load: Load) -> list[Case]:
    """Rivals with no row cached, each with one loader for all."""
    cases = []
    if find_spec("dogpile"):
        region = _region(bench)

        def create(*keys: str) -> list[dict[str, Any]]:
            return list(load([int(key) for key in keys]).values())

        def get_many(ids: Sequence[int]) -> object:
            return region.get_or_create_multi([str(n) for n in ids], create)

        def forget(count: int) -> None:
            region.delete_multi([str(n) for n in range(min(count, ROWS))])

        name = "dogpile.cache, get_or_create_multi"
        cases.append(Case(name, _hundreds(get_many), forget, 0.2))
    if find_spec("cashews"):
        from cashews import Cache

        cashews = Cache()
        cashews.setup(bench.server.url)

        @cashews(ttl=1000, key="missed:{n}", lock=True)
        async def one(n: int) -> dict[str, Any]:
            return load([n])[n]

        async def read(count: int) -> None:
            for start in range(0, count, TOGETHER):
                ids = range(start % ROWS, min(ROWS, start % ROWS + TOGETHER))
                await asyncio.gather(*(one(n) for n in ids))

        def drop(_: int) -> None:
            runner.run(cashews.delete_match("missed:*"))

        runner.run(cashews.init())
        name = "cashews, 100 calls at once, asyncio"
        cases.append(Case(name, lambda count: runner.run(read(count)), drop, 0.2))
    return cases
