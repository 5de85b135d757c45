"""Ten thousand users who wait in one process for what others send to their chats."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator
from statistics import median, quantiles
from typing import Any, Final

import redis

from holdfast import AsyncHoldfast, Holdfast

from ..harness import BenchmarkRun
from ..report import Cell, Table, Target

USERS: Final = 10_000
MEMBERS: Final = 100
"""Of each chat."""

WATCH_S: Final = 20
WAKES: Final = 50

SETTLED_S: Final = 0.1
"""Processor time of a second after the last connection."""

SETTLING_S: Final = 300

CPU_TARGET: Final = 0.05
WAKE_TARGET_MS: Final = 100.0


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Idle, and then woken."""
    bench.server.clear()
    users = bench.scaled(USERS)
    with Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf:
        for chat, members in _chats(users).items():
            hf.create_chat([*members, "sender"], sender="sender", body=0, chat_id=chat)
            for member in members:
                hf.chat(chat).leave(member)  # and comes back as one who has nothing to read
                hf.chat(chat).join(member)
    yield asyncio.run(_waited(bench, users))


def _chats(users: int) -> dict[str, list[str]]:
    """Chat → its members; everybody is in one."""
    return {
        f"chat-{n}": [f"user-{n * MEMBERS + i}" for i in range(MEMBERS)]
        for n in range(users // MEMBERS)
    }


async def _waited(bench: BenchmarkRun, users: int) -> Table:
    chats = _chats(users)
    async with AsyncHoldfast.from_url(bench.server.url, namespace="benchmarks") as hf:
        waiting = {
            user: asyncio.create_task(hf.inbox(user).fetch(timeout=None))
            for members in chats.values()
            for user in members
        }
        began_s = time.monotonic()
        await _settled()
        settled_s = time.monotonic() - began_s
        watch_s = bench.scaled(WATCH_S)
        before, cpu_s = bench.server.usage(), time.process_time()
        await asyncio.sleep(watch_s)
        cpu_s, after = time.process_time() - cpu_s, bench.server.usage()
        lines = _lines(bench.server.url)
        wakes_ms = [
            await _woken(hf, chat, [waiting[user] for user in chats[chat]])
            for chat in random.sample(list(chats), min(len(chats), WAKES))
        ]
        for task in waiting.values():
            task.cancel()
        await asyncio.gather(*waiting.values(), return_exceptions=True)
    cpu, p99_ms = cpu_s / watch_s, quantiles(wakes_ms, n=100, method="inclusive")[98]
    rows: list[list[Cell]] = [
        ["users", users],
        ["seconds until all wait", settled_s],
        ["connections with a subscriber", lines],
        ["idle: processor seconds per second, client", cpu],
        ["idle: processor seconds per second, server", (after.cpu_s - before.cpu_s) / watch_s],
        ["idle: commands per second", (after.commands - before.commands) / watch_s],
        [f"woken, all {MEMBERS} of a chat: median, ms", median(wakes_ms)],
        ["p99, ms", p99_ms],
        ["longest, ms", max(wakes_ms)],
    ]
    targets = [
        Target("listening connections", lines, 1, at_least=False),
        Target("share of one core while idle", cpu, CPU_TARGET, at_least=False),
        Target("ms until all of a chat are woken, median", median(wakes_ms), WAKE_TARGET_MS, False),
    ]
    return Table("users who wait in one process", ("what", "value"), rows, targets)


async def _settled() -> None:
    """Wait until all are listening: then this process has next to nothing to do."""
    for _ in range(SETTLING_S):
        cpu_s = time.process_time()
        await asyncio.sleep(1)
        if time.process_time() - cpu_s < SETTLED_S:
            return
    raise TimeoutError("those who wait do not come to rest")


async def _woken(hf: AsyncHoldfast, chat: str, waiting: list[asyncio.Task[Any]]) -> float:
    """Milliseconds from a message until the last of those who wait for it has it."""
    began_s = time.perf_counter()
    await hf.chat(chat).send("hi", sender="sender")
    found = await asyncio.gather(*waiting)
    assert all(batches for batches in found)
    return (time.perf_counter() - began_s) * 1000


def _lines(url: str) -> int:
    """Connections that are subscribed to anything."""
    with redis.Redis.from_url(url) as client:
        listed: Any = client.client_list(_type="pubsub")
    return sum(int(line["ssub"]) > 0 or int(line["sub"]) > 0 for line in listed)
