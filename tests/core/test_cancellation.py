"""Cancellation: of calls on a connection, of tasks by another thread, of blocking work."""

import asyncio
import random
import threading
from typing import Any

import pytest

from faults.servers import Server
from faults.waiting import eventually_async
from holdfast.core._async.caller import AsyncCaller
from holdfast.core.concurrency._async.cancellation import CancelScope
from holdfast.core.concurrency._async.primitives import Event
from holdfast.core.concurrency._async.user_calls import call_with_timeout
from holdfast.core.names import Namespace
from holdfast.core.script import Script
from holdfast.core.transport.settings import Settings

# Cancelling an asyncio call anywhere never gives its reply to another call

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


# What a revocation cancels, and what it leaves to others


async def interrupted() -> asyncio.CancelledError:
    try:
        await Event().wait(30)
    except asyncio.CancelledError as error:
        return error
    pytest.fail("it was not cancelled")


def cancelling() -> int:
    """Return the number of pending requests to cancel this task."""
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def test_what_is_revoked_is_cancelled() -> None:
    revocation = CancelScope()
    threads = [threading.Thread(target=revocation.cancel) for _ in range(2)]
    for thread in threads:
        thread.start()
    error = await interrupted()
    for thread in threads:
        thread.join()
    assert revocation.end(error)
    assert cancelling() == 0


async def test_a_task_that_another_task_also_cancels_ends() -> None:
    revocation, task = CancelScope(), asyncio.current_task()
    assert task is not None
    revocation.cancel()
    task.cancel()
    error = await interrupted()
    assert cancelling() == 2
    assert not revocation.end(error)
    assert cancelling() == 1
    task.uncancel()


async def test_who_ignores_it_is_not_cancelled_any_more() -> None:
    """The body ended well, or by an error of its own."""
    for ending in (None, KeyError()):
        revocation = CancelScope()
        revocation.cancel()
        await interrupted()
        assert not revocation.end(ending)
        assert cancelling() == 0


async def test_a_late_cancellation_cancels_no_task() -> None:
    revocation = CancelScope()
    revocation.cancel()
    assert not revocation.end(None)
    await asyncio.sleep(0)
    assert cancelling() == 0


def test_after_its_loop_it_is_harmless() -> None:
    async def made() -> CancelScope:
        return CancelScope()

    asyncio.run(made()).cancel()


async def test_only_a_task_can_be_cancelled() -> None:
    problems: list[Exception] = []
    done = Event()

    def called() -> None:
        try:
            CancelScope()
        except RuntimeError as error:
            problems.append(error)
        done.set()

    asyncio.get_running_loop().call_soon(called)
    assert await done.wait(30)
    assert len(problems) == 1


# A call that exceeds its timeout is abandoned, even if it ignores its cancellation


class Stubborn:
    """Work that cleans up without limit, like the driver of a database that hangs."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = False
        self.free = asyncio.Event()

    async def work(self) -> None:
        """Go on until it is freed."""
        self.begun.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.cancelled = True
            await self.free.wait()
            raise RuntimeError("no caller waits for this error any more") from None


async def test_when_the_time_is_over() -> None:
    stubborn, left = Stubborn(), set[Any]()
    caller = asyncio.create_task(call_with_timeout(0.01, stubborn.work, left=left))
    await asyncio.wait([caller], timeout=30)
    assert isinstance(caller.exception(), TimeoutError)
    await eventually_async(lambda: stubborn.cancelled)
    assert len(left) == 1
    stubborn.free.set()
    await eventually_async(lambda: not left)


async def test_when_the_caller_is_cancelled() -> None:
    stubborn, left = Stubborn(), set[Any]()
    caller = asyncio.create_task(call_with_timeout(3600, stubborn.work, left=left))
    await stubborn.begun.wait()
    caller.cancel()
    await asyncio.wait([caller], timeout=30)
    assert caller.cancelled()
    await eventually_async(lambda: stubborn.cancelled)
    assert len(left) == 1
    stubborn.free.set()
    await eventually_async(lambda: not left)
