"""Messages of 100 bytes into one chat: from 8 threads, and from 100 coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import redis
import redis.asyncio

from holdfast import AsyncHoldfast, Chat, Holdfast

from ..bare import BareConnection
from ..harness import BenchmarkRun, Case
from ..report import Table
from . import textbook

THREADS: Final = 8
COROUTINES: Final = 100

COUNT: Final = 2_000
TEXTBOOK_PART: Final = 0.15
"""It would take too long with as many."""

TARGET: Final = 8.0
BARE_TARGET: Final = 60 / 138
"""What a bare connection can do 138 times, we are to do 60 times."""

BODY: Final = "x" * 100


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Beside the textbook with its lock, from as many threads."""
    bench.server.clear()
    with (
        ThreadPoolExecutor(THREADS) as pool,
        redis.Redis.from_url(bench.server.url, decode_responses=True) as client,
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
        asyncio.Runner() as runner,
    ):
        chat = hf.create_chat(["jack", "jill"], sender="jack", body=BODY, chat_id="chat")
        rival = Case(f"textbook, {THREADS} threads", _textbook(pool, client), share=TEXTBOOK_PART)
        ours = Case(f"holdfast, {THREADS} threads", _in_threads(pool, chat))
        title = f"send to one chat, {THREADS} threads"
        yield bench.compared(title, ours, [rival], COUNT, target=TARGET)
        async_hf = AsyncHoldfast.from_url(bench.server.url, namespace="benchmarks")
        ours = Case(f"holdfast, {COROUTINES} coroutines", _in_coroutines(runner, async_hf))
        bare = runner.run(BareConnection.opened(bench.server.url))
        most = Case(f"bare connection, XADD, {COROUTINES} coroutines", _bare(runner, bare))
        async_client: Any = redis.asyncio.Redis.from_url(bench.server.url)
        by_hand = Case(
            f"redis-py asyncio, XADD, {COROUTINES} coroutines", _by_hand(runner, async_client)
        )
        title = f"send to one chat, {COROUTINES} coroutines"
        yield bench.compared(title, ours, [most, by_hand], 2 * COUNT, target=BARE_TARGET)
        bare.close()
        runner.run(async_client.aclose())
        runner.run(async_hf.close())


def _in_threads(pool: ThreadPoolExecutor, chat: Chat) -> Callable[[int], object]:
    return _shared(pool, lambda: chat.send(BODY, sender="jack"))


def _textbook(pool: ThreadPoolExecutor, client: redis.Redis) -> Callable[[int], object]:
    return _shared(pool, lambda: textbook.send(client, "chat", "jack", BODY))


def _shared(pool: ThreadPoolExecutor, send: Callable[[], object]) -> Callable[[int], object]:
    """Return work for threads that send one message after the other."""

    def caller(count: int) -> None:
        for _ in range(count):
            send()

    return lambda count: list(pool.map(caller, [max(1, count // THREADS)] * THREADS))


def _in_coroutines(runner: asyncio.Runner, hf: AsyncHoldfast) -> Callable[[int], object]:
    chat = hf.chat("chat")
    return _together(runner, lambda: chat.send(BODY, sender="jack"))


def _bare(runner: asyncio.Runner, caller: BareConnection) -> Callable[[int], object]:
    """Return work that only stores the message: no number, no members, no wake-up."""
    return _together(
        runner, lambda: caller.ask("XADD", "bare", "MAXLEN", "~", 1000, "*", "jack", BODY)
    )


def _by_hand(runner: asyncio.Runner, client: Any) -> Callable[[int], object]:
    """Return the same work with redis-py."""
    message = {"jack": BODY}
    return _together(runner, lambda: client.xadd("by hand", message, maxlen=1000, approximate=True))


def _together(
    runner: asyncio.Runner, send: Callable[[], Awaitable[object]]
) -> Callable[[int], object]:
    """Return work for coroutines that send one message after the other."""

    async def caller(count: int) -> None:
        for _ in range(count):
            await send()

    async def work(count: int) -> None:
        await asyncio.gather(*[caller(max(1, count // COROUTINES)) for _ in range(COROUTINES)])

    return lambda count: runner.run(work(count))
