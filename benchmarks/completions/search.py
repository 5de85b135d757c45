"""Searches in a guild of ten thousand, by two letters: ten names each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle
from typing import Any, Final

import redis
import redis.asyncio

from holdfast import AsyncHoldfast, Holdfast

from ..bare import BareConnection
from ..harness import BenchmarkRun, Case
from ..report import Table
from . import textbook
from .names import made_up, prefixes

MEMBERS: Final = 10_000
CLIENTS: Final = 16
MANY: Final = 100
LIMIT: Final = 10

COUNT: Final = 1_000
TEXTBOOK_PART: Final = 0.2
CROWDED_PART: Final = 0.05
"""The textbook's searches disturb each other: it would take too long with as many."""

ALONE_TARGET: Final = 4.0
CROWD_TARGET: Final = 20.0
BARE_TARGET: Final = 80 / 200
"""What a bare connection can do 200 times, we are to do 80 times."""

Search = Callable[[str], Any]


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure one client, sixteen threads, and coroutines."""
    bench.server.clear()
    names = made_up(MEMBERS)
    with (
        redis.Redis.from_url(bench.server.url, decode_responses=True) as client,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
        ThreadPoolExecutor(CLIENTS) as pool,
        asyncio.Runner() as runner,
    ):
        guild = hf.completions("guild")
        guild.add_many(names)
        client.zadd("textbook:members:guild", dict.fromkeys(names, 0))
        typed = prefixes(names, MEMBERS)
        ways: dict[str, Search] = {
            "holdfast": lambda prefix: guild.search(prefix, limit=LIMIT),
            "textbook": lambda prefix: textbook.search(client, "guild", prefix),
            "BYLEX by hand": lambda prefix: client.zrangebylex(
                "textbook:members:guild", f"[{prefix}", f"({prefix}\xff", 0, LIMIT
            ),
        }
        _alike(ways, typed[:20])
        yield _alone(bench, ways, typed)
        yield _in_16_threads(bench, ways, typed, pool)
        yield from _on_a_loop(bench, typed, runner)


def _alike(ways: dict[str, Search], typed: list[str]) -> None:
    """Check that all contenders find the same."""
    for prefix in typed:
        found = [match.name for match in ways["holdfast"](prefix)]
        assert found == ways["textbook"](prefix) == ways["BYLEX by hand"](prefix)


def _alone(bench: BenchmarkRun, ways: dict[str, Search], typed: list[str]) -> Table:
    ours, theirs, by_hand = (Case(name, _one(search, typed)) for name, search in ways.items())
    theirs = Case(theirs.name, theirs.work, share=TEXTBOOK_PART)
    return bench.compared("search, one client", ours, [theirs, by_hand], COUNT, target=ALONE_TARGET)


def _in_16_threads(
    bench: BenchmarkRun, ways: dict[str, Search], typed: list[str], pool: ThreadPoolExecutor
) -> Table:
    ours, theirs, by_hand = (
        Case(name, _in_threads(pool, search, typed)) for name, search in ways.items()
    )
    theirs = Case(theirs.name, theirs.work, share=CROWDED_PART)
    title = f"search, {CLIENTS} threads"
    return bench.compared(title, ours, [theirs, by_hand], 2 * COUNT, target=CROWD_TARGET)


def _on_a_loop(bench: BenchmarkRun, typed: list[str], runner: asyncio.Runner) -> Iterator[Table]:
    """Measure 16 and 100 coroutines, beside as many of redis-py and of a bare connection."""
    hf = AsyncHoldfast.from_url(bench.server.url, namespace="benchmarks")
    client: Any = redis.asyncio.Redis.from_url(bench.server.url)
    bare = runner.run(BareConnection.opened(bench.server.url))
    searches: dict[str, Search] = {
        "holdfast": partial(hf.completions("guild").search, limit=LIMIT),
        "BYLEX by hand, redis-py asyncio": lambda prefix: client.zrangebylex(
            "textbook:members:guild", f"[{prefix}", f"({prefix}\xff", 0, LIMIT
        ),
        "bare connection, BYLEX": partial(_bare, bare),
    }
    for many in (CLIENTS, MANY):
        ours, by_hand, most = (
            Case(name, _gathered(runner, search, typed, many)) for name, search in searches.items()
        )
        yield bench.compared(
            f"search, {many} coroutines", ours, [most, by_hand], 4 * COUNT, target=BARE_TARGET
        )
    bare.close()
    runner.run(client.aclose())
    runner.run(hf.close())


def _one(search: Search, typed: list[str]) -> Callable[[int], object]:
    def work(count: int) -> None:
        for prefix in typed[:count]:
            search(prefix)

    return work


def _in_threads(
    pool: ThreadPoolExecutor, search: Search, typed: list[str]
) -> Callable[[int], object]:
    caller = _one(search, typed)
    return lambda count: list(pool.map(caller, [max(1, count // CLIENTS)] * CLIENTS))


def _bare(caller: BareConnection, prefix: str) -> Awaitable[object]:
    key, first, last = "textbook:members:guild", f"[{prefix}", f"({prefix}\xff"
    return caller.ask("ZRANGE", key, first, last, "BYLEX", "LIMIT", 0, LIMIT)


def _gathered(
    runner: asyncio.Runner,
    search: Callable[[str], Awaitable[object]],
    typed: list[str],
    coroutines: int,
) -> Callable[[int], object]:
    """Return work for coroutines that search one time after the other."""

    async def caller(count: int) -> None:
        for _, prefix in zip(range(count), cycle(typed), strict=False):
            await search(prefix)

    async def work(count: int) -> None:
        await asyncio.gather(*[caller(max(1, count // coroutines)) for _ in range(coroutines)])

    return lambda count: runner.run(work(count))
