"""Decisions per second: one after the other, and by 50 coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Final

import redis.asyncio
from limits.aio import strategies

from holdfast import AsyncHoldfast

from ..harness import BenchmarkRun, Case
from ..report import Range, Table, Target
from . import contenders
from .contenders import Ask, AskAsync

COROUTINES: Final = 50
COUNT: Final = 1_000
AMOUNT: Final = 10_000_000
PER_S: Final = 60
SUBJECTS: Final = [f"user:{n}" for n in range(100)]

TARGET: Final = 3.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Ask for a hundred subjects in turn; everything is allowed."""
    bench.server.clear()
    url = bench.server.url
    with ExitStack() as ending, asyncio.Runner() as runner:
        ours, *rivals = [
            Case(name, _each(make(url, AMOUNT, PER_S, ending)))
            for name, make in contenders.BLOCKING.items()
        ]
        yield bench.compared("decisions, one after the other", ours, rivals, COUNT)
        bench.server.clear()
        hf = AsyncHoldfast.from_url(url, namespace="benchmarks")
        client = redis.asyncio.Redis.from_url(url, max_connections=COROUTINES)
        asks: dict[str, AskAsync] = {
            "holdfast": contenders.holdfast_async(hf, AMOUNT, PER_S),
            "limits, fixed window (slowapi)": contenders.limits_async(
                url, strategies.FixedWindowRateLimiter, AMOUNT, PER_S
            ),
            "limits, moving window": contenders.limits_async(
                url, strategies.MovingWindowRateLimiter, AMOUNT, PER_S
            ),
            "by hand, fixed window": contenders.script_async(
                client, contenders.FIXED, AMOUNT, PER_S
            ),
            "by hand, sorted set": contenders.script_async(
                client, contenders.SLIDING, AMOUNT, PER_S
            ),
        }
        cases = [Case(name, _in_coroutines(runner, ask)) for name, ask in asks.items()]
        title = f"decisions, {COROUTINES} coroutines"
        table = bench.compared(title, cases[0], cases[1:], 4 * COUNT)
        yield _with_target(table)
        runner.run(hf.close())
        runner.run(client.aclose())


def _with_target(table: Table) -> Table:
    """Return *table* with the target: so many times as fast as the best rival."""
    ratios = [row[-1] for row in table.rows[1:]]
    middles = [each.middle for each in ratios if isinstance(each, Range)]
    target = Target("holdfast ÷ the best rival", min(middles), TARGET, at_least=True)
    return replace(table, targets=[target])


def _each(ask: Ask) -> Callable[[int], object]:
    def work(count: int) -> None:
        for n in range(count):
            assert ask(SUBJECTS[n % len(SUBJECTS)])

    return work


def _in_coroutines(runner: asyncio.Runner, ask: AskAsync) -> Callable[[int], object]:
    async def caller(first: int, count: int) -> None:
        for n in range(first, first + count):
            assert await ask(SUBJECTS[n % len(SUBJECTS)])

    async def work(count: int) -> None:
        each = max(1, count // COROUTINES)
        await asyncio.gather(*[caller(n * each, each) for n in range(COROUTINES)])

    return lambda count: runner.run(work(count))
