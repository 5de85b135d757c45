"""Adds: one after the other, by 50 coroutines, and through a buffer."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from statistics import median
from typing import Final

import redis
import redis.asyncio

from holdfast import AsyncHoldfast, Holdfast

from ..harness import BenchmarkRun, Case, comparison, interleaved
from ..report import Table, Target
from . import textbook

COROUTINES: Final = 50
PAGES: Final = [f"page {n}" for n in range(100)]
FLUSH_EVERY_S: Final = 0.1

COUNT: Final = 1_000
BUFFERED_COUNT: Final = 500_000

BLOCKING_TARGET: Final = 1.0
COROUTINES_TARGET: Final = 4.0
BUFFERED_TARGET: Final = 1_500_000


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Beside the textbook, with as many callers."""
    bench.server.clear()
    with (
        redis.Redis.from_url(bench.server.url) as client,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
        asyncio.Runner() as runner,
    ):
        rival = Case("textbook", _each(lambda: textbook.add(client, "hits")))
        ours = Case("holdfast", _each(hf.counter("hits").add))
        yield bench.compared("add, blocking", ours, [rival], COUNT, target=BLOCKING_TARGET)
        async_hf = AsyncHoldfast.from_url(bench.server.url, namespace="benchmarks")
        ours = Case(
            f"holdfast, {COROUTINES} coroutines",
            _in_coroutines(runner, async_hf.counter("hits").add),
        )
        async_client = redis.asyncio.Redis.from_url(bench.server.url)
        theirs = Case(
            f"textbook, redis-py asyncio, {COROUTINES} coroutines",
            _in_coroutines(runner, lambda: textbook.add_async(async_client, "hits")),
        )
        title = f"add, {COROUTINES} coroutines"
        yield bench.compared(title, ours, [theirs], 4 * COUNT, target=COROUTINES_TARGET)
        runner.run(async_client.aclose())
        runner.run(async_hf.close())
        yield _buffered(bench, hf, client)


def _each(add: Callable[[], object]) -> Callable[[int], object]:
    def work(count: int) -> None:
        for _ in range(count):
            add()

    return work


def _in_coroutines(
    runner: asyncio.Runner, add: Callable[[], Awaitable[object]]
) -> Callable[[int], object]:
    async def caller(count: int) -> None:
        for _ in range(count):
            await add()

    async def work(count: int) -> None:
        await asyncio.gather(*[caller(max(1, count // COROUTINES)) for _ in range(COROUTINES)])

    return lambda count: runner.run(work(count))


def _buffered(bench: BenchmarkRun, hf: Holdfast, client: redis.Redis) -> Table:
    """Flushed ten times a second by its thread, and at the end.

    The rival adds up in a dictionary, and writes the sums at the end.
    """
    buffer = hf.counter_buffer(flush_every=FLUSH_EVERY_S)

    def work(count: int) -> None:
        add = buffer.add
        for _ in range(count // len(PAGES)):
            for page in PAGES:
                add(page)
        buffer.flush()

    def by_hand(count: int) -> None:
        sums: dict[str, int] = defaultdict(int)
        for _ in range(count // len(PAGES)):
            for page in PAGES:
                sums[page] += 1
        for page, number in sums.items():
            textbook.add(client, page, number)

    ours, rival = Case("holdfast, buffered", work), Case("textbook, sums in a dict", by_hand)
    samples = interleaved([ours, rival], bench.rounds, bench.scaled(BUFFERED_COUNT), bench.server)
    rate = median(1 / sample.wall_s for sample in samples[ours.name])
    target = Target("adds per second, buffered", rate, BUFFERED_TARGET, at_least=True)
    return comparison(f"add, buffered, {len(PAGES)} counters", samples, ours, [rival], [target])
