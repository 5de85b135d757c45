"""Calls per second: the same tiny script through Holdfast and through plain redis-py.

A call of ours does more than redis-py's: it never repeats what may have been applied, follows the
cluster and notices a connection that died while idle. It is to be faster all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import redis
import redis.asyncio

from holdfast.core._async.caller import AsyncCaller
from holdfast.core._sync.caller import Caller
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport.settings import Settings

from .bare import BareConnection, BareThreads
from .harness import BenchmarkRun, Case
from .report import Table

SCRIPT: Final = Script.of(
    "benchmarks/count", "#!lua\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])"
)
UNIT: Final = Namespace.of("benchmarks").unit("call", "one")
KEY: Final = UNIT.key("count")

ONE_THREAD_TARGET: Final = 1.4
"""A blocking round trip is mostly the kernel's and the server's work: no more can be gained."""

ONE_COROUTINE_TARGET: Final = 1.2
FIFTY_COROUTINES_TARGET: Final = 6.0
"""What travels together shares the cost of the trip."""

COROUTINES: Final = ((1, 500, ONE_COROUTINE_TARGET), (50, 4_000, FIFTY_COROUTINES_TARGET))
"""How many, calls of a round, how many times as fast as redis-py."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Blocking with 1 and 16 threads, asyncio with 1 and 50 coroutines."""
    with _blocking(bench) as contenders:
        for threads, count, target in ((1, 1_000, ONE_THREAD_TARGET), (16, 8_000, None)):
            with ThreadPoolExecutor(threads) as pool:
                ours, *others = [
                    Case(name, _in_threads(pool, threads, call))
                    for name, call in contenders.items()
                ]
                title = f"calls, blocking, threads: {threads}"
                yield bench.compared(title, ours, others, count, target=target)
    with asyncio.Runner() as runner, _on_loop(bench, runner) as (ours_async, theirs_async):
        bare = runner.run(BareConnection.opened(bench.server.url))
        most = partial(bare.ask, "EVALSHA", SCRIPT.sha1, 1, KEY, 1)
        for coroutines, count, target in COROUTINES:
            yield bench.compared(
                f"calls, asyncio, coroutines: {coroutines}",
                Case("holdfast", in_coroutines(runner, coroutines, ours_async)),
                [
                    Case("redis-py", in_coroutines(runner, coroutines, theirs_async)),
                    Case("bare connection", in_coroutines(runner, coroutines, most)),
                ],
                count,
                target=target,
            )
        bare.close()


@contextmanager
def _blocking(bench: BenchmarkRun) -> Iterator[dict[str, Callable[[], object]]]:
    """Yield one call through Holdfast, and the same call through others."""
    url = bench.server.url
    with ExitStack() as stack:
        client = stack.enter_context(redis.Redis.from_url(url))
        client.script_load(SCRIPT.source)
        caller = stack.enter_context(closing(Caller(Settings.of(client))))
        bare = stack.enter_context(closing(BareThreads(url)))
        calls: dict[str, Callable[[], object]] = {
            "holdfast": lambda: caller.call(SCRIPT, UNIT, [KEY], [1]),
            "redis-py": lambda: client.evalsha(SCRIPT.sha1, 1, KEY, 1),
        }
        if find_spec("valkey"):
            import valkey

            other = stack.enter_context(valkey.Valkey.from_url(url))
            calls["valkey-py"] = lambda: other.evalsha(SCRIPT.sha1, 1, KEY, 1)
        calls["bare connection"] = lambda: bare.ask("EVALSHA", SCRIPT.sha1, 1, KEY, 1)
        yield calls


@contextmanager
def _on_loop(
    bench: BenchmarkRun, runner: asyncio.Runner
) -> Iterator[tuple[Callable[[], Awaitable[Any]], Callable[[], Awaitable[Any]]]]:
    """Yield the same calls on asyncio."""
    client: Any = redis.asyncio.Redis.from_url(bench.server.url)
    caller = AsyncCaller(Settings.of(client))
    yield (
        lambda: caller.call(SCRIPT, UNIT, [KEY], [1]),
        lambda: client.evalsha(SCRIPT.sha1, 1, KEY, 1),
    )
    runner.run(caller.close())
    runner.run(client.aclose())


def _in_threads(
    pool: ThreadPoolExecutor, threads: int, call: Callable[[], object]
) -> Callable[[int], object]:
    """Return work for *threads* that make one call after the other."""

    def caller(calls: int) -> None:
        for _ in range(calls):
            call()

    def work(count: int) -> None:
        if threads == 1:
            caller(count)  # here: handing over to another thread is no part of a call
        else:
            list(pool.map(caller, _shares(count, threads)))

    return work


def in_coroutines(
    runner: asyncio.Runner, coroutines: int, call: Callable[[], Awaitable[Any]]
) -> Callable[[int], object]:
    """Return work for *coroutines* coroutines that make one call after the other."""

    async def caller(calls: int) -> None:
        for _ in range(calls):
            await call()

    async def work(count: int) -> None:
        await asyncio.gather(*map(caller, _shares(count, coroutines)))

    return lambda count: runner.run(work(count))


def _shares(count: int, coroutines: int) -> list[int]:
    """Split *count* into equal whole numbers."""
    return [count * (i + 1) // coroutines - count * i // coroutines for i in range(coroutines)]
