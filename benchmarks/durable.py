"""Durable calls per second: a tiny script that one replica has before it returns.

redis-py sends the script and `WAIT` in one pipeline. A call of ours does more: a mark goes between
the two, so that a repeated call is not confirmed too soon. Many calls share one `WAIT`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import redis.asyncio

from holdfast import Replicated
from holdfast.core._async.caller import AsyncCaller
from holdfast.core.transport.settings import Settings

from .calls import KEY, SCRIPT, UNIT, in_coroutines
from .harness import BenchmarkRun, Case
from .report import Table
from .server import HOST, Server, serving

ONE_COROUTINE_TARGET: Final = 0.8
"""What the mark costs, at most."""

FIFTY_COROUTINES_TARGET: Final = 2.0

_FOLLOWS_S: Final = 15.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Asyncio with 1 and 50 coroutines, on a primary with one replica."""
    with _replicated() as server, asyncio.Runner() as runner:
        here = replace(bench, server=server)
        with _on_loop(server, runner) as (ours, theirs):
            for coroutines, count, target in (
                (1, 300, ONE_COROUTINE_TARGET),
                (50, 3_000, FIFTY_COROUTINES_TARGET),
            ):
                yield here.compared(
                    f"durable calls, asyncio, coroutines: {coroutines}",
                    Case("holdfast", in_coroutines(runner, coroutines, ours)),
                    [Case("redis-py, script and WAIT", in_coroutines(runner, coroutines, theirs))],
                    count,
                    target=target,
                )


@contextmanager
def _replicated() -> Iterator[Server]:
    """Yield a server that has a replica."""
    quickly = ("--repl-diskless-sync-delay", "0")
    with serving(*quickly) as server, serving("--replicaof", f"{HOST} {server.port}"):
        until = time.monotonic() + _FOLLOWS_S
        while server.ask("INFO", "replication").get("slave0", {}).get("state") != "online":
            if time.monotonic() > until:
                raise RuntimeError("the replica does not follow")
            time.sleep(0.01)
        yield server


@contextmanager
def _on_loop(
    server: Server, runner: asyncio.Runner
) -> Iterator[tuple[Callable[[], Awaitable[Any]], Callable[[], Awaitable[Any]]]]:
    """Yield one durable call through Holdfast, and the same through redis-py."""
    client: Any = redis.asyncio.Redis.from_url(server.url)
    settings = replace(Settings.of(client), durability=Replicated(1))
    caller = AsyncCaller(settings)

    async def theirs() -> None:
        async with client.pipeline(transaction=False) as pipeline:
            pipeline.evalsha(SCRIPT.sha1, 1, KEY, 1)
            pipeline.wait(1, 1000)
            _, confirmed = await pipeline.execute()
        assert confirmed == 1

    yield lambda: caller.call(SCRIPT, UNIT, [KEY], [1]), theirs
    runner.run(caller.close())
    runner.run(client.aclose())
