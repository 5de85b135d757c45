"""Two batches of calls are under way on one connection: what breaks it breaks both, and no more."""

import asyncio
import random

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import OutcomeUnknown, ServerUnavailable
from holdfast.core._async.caller import AsyncCaller
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport._async.connection import MAX_BYTES_IN_FLIGHT, MAX_IN_FLIGHT
from holdfast.core.transport.settings import Settings

ADD = Script.of("test/add-and-echo", "#!lua\nredis.call('SADD', KEYS[1], ARGV[1])\nreturn ARGV[1]")

ROUNDS = 20
CALLS = 2 * MAX_IN_FLIGHT


async def test_a_broken_connection_gives_no_caller_the_reply_of_another(
    standalone: Server, proxy: Proxy, seed: int
) -> None:
    dice = random.Random(seed)
    unit = Namespace.of("batches").unit("set", str(seed))
    caller = AsyncCaller(Settings.from_url(proxy.url))
    await caller.call(ADD, unit, [unit.key("k")], ["first"])
    broken = answered = unknown = 0
    for turn in range(ROUNDS):
        proxy.cut_reply_at(dice.randrange(1, CALLS * 10))
        names = [f"{turn}:{i}" for i in range(CALLS)]
        calls = [caller.call(ADD, unit, [unit.key("k")], [name]) for name in names]
        replies = await asyncio.gather(*calls, return_exceptions=True)
        proxy.heal()
        stored = standalone.execute("SMISMEMBER", unit.key("k"), *names)
        for name, reply, applied in zip(names, replies, stored, strict=True):
            if isinstance(reply, ServerUnavailable):
                assert not applied, f"{name} was applied: {reply}"
            elif isinstance(reply, OutcomeUnknown):
                unknown += 1
            else:
                assert reply == name.encode()
                assert applied
                answered += 1
        broken += any(isinstance(reply, OutcomeUnknown) for reply in replies)
    await caller.close()

    assert broken > ROUNDS // 2, "the cuts hit nothing"
    assert answered > CALLS, "nearly nothing got through"
    assert unknown <= broken * MAX_IN_FLIGHT, "more was lost than can be under way"


async def test_calls_that_are_made_together_are_applied_in_order(standalone: Server) -> None:
    append = Script.of("test/append", "#!lua\nreturn redis.call('RPUSH', KEYS[1], ARGV[1])")
    unit = Namespace.of("batches").unit("list", "x")
    standalone.execute("DEL", unit.key("k"))
    caller = AsyncCaller(Settings.from_url(standalone.url))
    calls = (caller.call(append, unit, [unit.key("k")], [i]) for i in range(2 * MAX_IN_FLIGHT))
    lengths = await asyncio.gather(*calls)
    await caller.close()
    assert lengths == list(range(1, 2 * MAX_IN_FLIGHT + 1))


async def test_a_loop_that_cancels_everything_leaves_no_reply_for_later_calls(
    standalone: Server, seed: int
) -> None:
    dice = random.Random(seed)
    unit = Namespace.of("batches").unit("set", "teardown")
    caller = AsyncCaller(Settings.from_url(f"{standalone.url}?socket_timeout=60"))
    cancelled = 0
    for turn in range(ROUNDS):
        names = [f"{turn}:{i}" for i in range(CALLS)]
        calls = [
            asyncio.ensure_future(caller.call(ADD, unit, [unit.key("k")], [name])) for name in names
        ]
        for _ in range(dice.randrange(12)):
            await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        replies = await asyncio.gather(*calls, return_exceptions=True)
        cancelled += sum(isinstance(reply, asyncio.CancelledError) for reply in replies)
        after = [caller.call(ADD, unit, [unit.key("k")], [f"{name}:after"]) for name in names]
        assert await asyncio.gather(*after) == [f"{name}:after".encode() for name in names]
    await caller.close()

    assert cancelled > CALLS, "nothing was under way"


async def test_what_waits_for_a_server_that_hangs_was_not_applied(
    standalone: Server, proxy: Proxy
) -> None:
    unit = Namespace.of("batches").unit("set", "hangs")
    standalone.execute("DEL", unit.key("k"))
    caller = AsyncCaller(Settings.from_url(f"{proxy.url}?socket_timeout=1"))
    await caller.call(ADD, unit, [unit.key("k")], ["first"])
    proxy.black_hole()
    connections = proxy.connections
    names = [str(n) for n in range(3 * MAX_IN_FLIGHT)]
    calls = [caller.call(ADD, unit, [unit.key("k")], [name]) for name in names]
    replies = await asyncio.gather(*calls, return_exceptions=True)
    assert proxy.connections == connections, "they waited for one more connection"
    proxy.heal()
    unknown = [reply for reply in replies if isinstance(reply, OutcomeUnknown)]
    refused = [reply for reply in replies if isinstance(reply, ServerUnavailable)]
    assert len(unknown) == MAX_IN_FLIGHT
    assert len(refused) == 2 * MAX_IN_FLIGHT
    assert await caller.read(unit, "SCARD", unit.key("k")) == 1
    await caller.close()


async def test_of_large_calls_fewer_are_under_way(standalone: Server, proxy: Proxy) -> None:
    """It is their bytes that count: the others wait where nothing happens to them."""
    unit = Namespace.of("batches").unit("set", "large")
    standalone.execute("DEL", unit.key("k"))
    caller = AsyncCaller(Settings.from_url(f"{proxy.url}?socket_timeout=1"))
    await caller.call(ADD, unit, [unit.key("k")], ["first"])
    proxy.black_hole()
    large = MAX_BYTES_IN_FLIGHT // 4
    calls = [caller.call(ADD, unit, [unit.key("k")], [b"x" * large]) for _ in range(10)]
    replies = await asyncio.gather(*calls, return_exceptions=True)
    proxy.heal()
    assert sorted(type(reply).__name__ for reply in replies) == [
        *["OutcomeUnknown"] * 4,
        *["ServerUnavailable"] * 6,
    ]
    await caller.close()
