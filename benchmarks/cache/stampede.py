"""200 callers in 4 processes miss the same result of 0.2 s: calls of the function, and waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from multiprocessing import get_context
from statistics import median, quantiles
from typing import Any, Final

import redis

from holdfast import AsyncHoldfast

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target
from .contenders import ASYNC, Result, profile_of

PROCESSES: Final = 4
CALLERS: Final = 50
LOAD_S: Final = 0.2
ROUNDS: Final = 7


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Start all callers at the same moment, for a new result in each round."""
    bench.server.clear()
    rounds = 2 if bench.quick else ROUNDS
    rows: list[list[Cell]] = []
    for name in ASYNC:
        context = get_context("spawn")
        barrier, found = context.Barrier(PROCESSES), context.Queue()
        processes = [
            context.Process(target=_callers, args=(bench.server.url, name, rounds, barrier, found))
            for _ in range(PROCESSES)
        ]
        for process in processes:
            process.start()
        waits = [wait for _ in processes for wait in found.get(timeout=120)]
        for process in processes:
            process.join(60)
        with redis.Redis.from_url(bench.server.url) as client:
            calls = [int(client.get(f"calls:{name}:{n}") or 0) for n in range(rounds)]
        p99 = quantiles(waits, n=100)[98]
        rows.append([name, float(median(calls)), float(max(calls)), median(waits), p99])
    ours = rows[0][2]
    assert isinstance(ours, float)
    yield Table(
        f"a stampede: {PROCESSES * CALLERS} callers, a function of {LOAD_S} s",
        ("case", "calls", "most calls", "median s", "p99 s"),
        rows,
        [Target("holdfast, most calls of the function", ours, 1.0, at_least=False)],
        rounds=rounds,
    )


def _callers(url: str, name: str, rounds: int, barrier: Any, found: Any) -> None:
    """Call in one process."""
    found.put(asyncio.run(_waits(url, name, rounds, barrier)))


async def _waits(url: str, name: str, rounds: int, barrier: Any) -> list[float]:
    counting = redis.Redis.from_url(url)
    async with AsyncHoldfast.from_url(url, namespace="benchmarks") as hf:

        async def function(user_id: int) -> Result:
            counting.incr(f"calls:{name}:{user_id}")
            await asyncio.sleep(LOAD_S)
            return profile_of(user_id)

        cached = await ASYNC[name](url, function, hf)

        async def call(n: int) -> float:
            began = time.perf_counter()
            await cached(n)
            return time.perf_counter() - began

        await cached(-1)  # opens the connections
        waits = []
        for n in range(rounds):
            await asyncio.to_thread(barrier.wait)
            waits += await asyncio.gather(*(call(n) for _ in range(CALLERS)))
    counting.close()
    return waits
