"""Cancelling an asyncio call anywhere never gives its reply to another call."""

import asyncio
import random

import pytest

from faults.servers import Server
from holdfast.core.call._async import AsyncCaller
from holdfast.core.connections.settings import Settings
from holdfast.core.names import Namespace
from holdfast.core.script import Script

ECHO = Script.of("test/echo", "#!lua flags=no-writes\nreturn ARGV[1]")

AT_ONCE = 500
PATIENT = "?socket_timeout=60"


@pytest.mark.parametrize("calls", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
async def test_no_reply_crosses_in_a_storm_of_cancellations(
    standalone: Server, seed: int, calls: int
) -> None:
    """A tenth of many calls is cancelled at random moments: each reply is its own."""
    dice = random.Random(seed)
    caller = AsyncCaller(Settings.from_url(standalone.url + PATIENT))
    unit = Namespace.of("storm").unit("echo", "x")
    crossed: list[tuple[str, bytes]] = []
    answered = cancelled = 0

    async def echo(nonce: str) -> None:
        nonlocal answered
        reply = await caller.call(ECHO, unit, [unit.key("k")], [nonce])
        answered += 1
        if reply != nonce.encode():
            crossed.append((nonce, reply))

    for start in range(0, calls, AT_ONCE):
        wave = [asyncio.create_task(echo(str(start + i))) for i in range(AT_ONCE)]
        for victim in dice.sample(wave, AT_ONCE // 10):
            if dice.random() < 0.2:
                await asyncio.sleep(0)
            victim.cancel()
        for result in await asyncio.gather(*wave, return_exceptions=True):
            cancelled += isinstance(result, asyncio.CancelledError)
    await caller.close()

    assert crossed == []
    assert answered + cancelled == calls
    assert cancelled > calls // 20, "too few cancellations hit a call under way"


async def test_a_cancelled_call_was_made_or_not_but_never_twice(standalone: Server) -> None:
    add = Script.of("test/add", "#!lua\nreturn redis.call('SADD', KEYS[1], ARGV[1])")
    caller = AsyncCaller(Settings.from_url(standalone.url + PATIENT))
    unit = Namespace.of("storm").unit("set", "x")
    standalone.execute("DEL", unit.key("k"))
    calls = [asyncio.create_task(caller.call(add, unit, [unit.key("k")], [n])) for n in range(1000)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    results = await asyncio.gather(*calls, return_exceptions=True)
    await caller.close()

    assert all(result == 1 for result in results[1::2])
    assert standalone.execute("SCARD", unit.key("k")) >= 500
