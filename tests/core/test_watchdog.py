"""The watchdog tells of an event loop that does not turn: once each time, and only then."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator

import pytest

from faults.waiting import eventually, eventually_async
from holdfast.core.runtime.thread import LoopThread
from holdfast.core.runtime.watchdog import Blockage, Watchdog

LIMIT_S = 0.2
BLOCKED_S = 1.0  # several times as long, so that a slow machine has told by then
IDLE_S = 1.0


@pytest.fixture
def told() -> list[Blockage]:
    return []


@pytest.fixture
async def watchdog(told: list[Blockage]) -> AsyncIterator[Watchdog]:
    watchdog = Watchdog(LIMIT_S, told.append)
    yield watchdog
    watchdog.close()


def block(told: list[Blockage], count: int) -> None:
    """Keep the loop from turning until that is told, and then for as long again."""
    eventually(lambda: len(told) == count, 30)
    time.sleep(BLOCKED_S)


async def test_a_blocked_loop_is_told_once(told: list[Blockage], watchdog: Watchdog) -> None:
    """However long it lasts; with the name of the task, the place and the time so far."""
    blocked = asyncio.create_task(asyncio.sleep(0), name="innocent")
    await blocked

    async def guilty() -> None:
        block(told, 1)

    await asyncio.create_task(guilty(), name="task 17")
    await asyncio.sleep(2 * LIMIT_S)
    [blockage] = told
    assert blockage.task == "task 17"
    assert LIMIT_S <= blockage.seconds < 30
    file, _, place = blockage.where.rpartition(":")
    assert file.endswith(".py")
    assert " in " in place


async def test_the_place_is_where_the_loop_is(told: list[Blockage], watchdog: Watchdog) -> None:
    """The innermost frame in Python: here the one that sleeps."""

    async def guilty() -> None:
        time.sleep(10 * LIMIT_S)  # noqa: ASYNC251

    await asyncio.create_task(guilty(), name="task 18")
    [blockage] = told
    line = guilty.__code__.co_firstlineno + 1
    assert blockage.where == f"{__file__}:{line} in guilty"


async def test_each_time_is_told(told: list[Blockage], watchdog: Watchdog) -> None:
    """Twice by the same task, then by another one."""

    async def guilty(count: int) -> None:
        block(told, count)

    for n in (1, 2, 3):
        await asyncio.create_task(guilty(n), name=f"task {min(n, 2)}")
        await asyncio.sleep(3 * LIMIT_S)  # so that it has seen the loop turn
    assert [blockage.task for blockage in told] == ["task 1", "task 2", "task 2"]


async def test_a_blockage_of_no_task_has_no_name(told: list[Blockage], watchdog: Watchdog) -> None:
    """A callback of the loop, say."""
    asyncio.get_running_loop().call_soon(block, told, 1)
    await eventually_async(lambda: told)
    [blockage] = told
    assert blockage.task == ""
    assert blockage.seconds >= LIMIT_S


async def test_an_idle_loop_is_not_told(told: list[Blockage], watchdog: Watchdog) -> None:
    """It sleeps for much longer than the limit, and turns when it is asked."""
    await asyncio.sleep(IDLE_S)
    assert told == []


async def test_a_busy_loop_is_not_told(told: list[Blockage], watchdog: Watchdog) -> None:
    """Many short turns one after the other, from many tasks."""
    ends_at = time.monotonic() + IDLE_S

    async def busy() -> None:
        while time.monotonic() < ends_at:
            time.sleep(LIMIT_S / 100)  # noqa: ASYNC251
            await asyncio.sleep(0)

    await asyncio.gather(*(busy() for _ in range(10)))
    assert told == []


async def test_a_loop_beside_a_busy_thread_is_not_told(
    told: list[Blockage], watchdog: Watchdog
) -> None:
    """A plain task that computes in Python lets go of the interpreter now and then."""
    over = threading.Event()

    def compute() -> None:
        while not over.is_set():
            sum(range(1000))

    thread = threading.Thread(target=compute)
    thread.start()
    await asyncio.sleep(IDLE_S)
    over.set()
    thread.join()
    assert told == []


async def test_a_closed_watchdog_tells_nothing(told: list[Blockage]) -> None:
    """And its thread ends, if nobody else uses that."""
    watchdog = Watchdog(LIMIT_S, told.append)
    watchdog.close()
    time.sleep(5 * LIMIT_S)  # noqa: ASYNC251
    assert told == []


async def test_two_watchdogs_tell_of_one_loop(told: list[Blockage], watchdog: Watchdog) -> None:
    """One goes on when the other one is closed."""
    others: list[Blockage] = []
    other = Watchdog(LIMIT_S, others.append)

    async def guilty(count: int) -> None:
        block(told, count)

    await asyncio.create_task(guilty(1), name="first")
    await asyncio.sleep(3 * LIMIT_S)
    other.close()
    await asyncio.create_task(guilty(2), name="second")
    assert [blockage.task for blockage in told] == ["first", "second"]
    assert [blockage.task for blockage in others] == ["first"]


def test_a_loop_that_is_closed_is_not_told() -> None:
    """It ended without closing its watchdog: that one gives up, and nobody is disturbed."""
    told: list[Blockage] = []

    async def forgetful() -> Watchdog:
        return Watchdog(LIMIT_S, told.append)

    watchdog = asyncio.run(forgetful())
    eventually(watchdog._watching.done, 10)
    assert watchdog._watching.exception() is None
    assert told == []
    watchdog.close()
    del watchdog
    gc.collect()


def test_only_its_own_loop_is_watched() -> None:
    """A loop of another thread may be blocked meanwhile."""
    told: list[Blockage] = []

    async def innocent() -> None:
        watchdog = Watchdog(LIMIT_S, told.append)
        await asyncio.to_thread(time.sleep, 5 * LIMIT_S)
        watchdog.close()

    async def guilty() -> None:
        time.sleep(5 * LIMIT_S)  # noqa: ASYNC251

    thread = threading.Thread(target=asyncio.run, args=[guilty()])
    thread.start()
    asyncio.run(innocent())
    thread.join()
    assert told == []


def test_a_watchdog_leaves_no_thread_behind() -> None:
    """The private loop ends with its last user."""

    async def watched() -> None:
        watchdog = Watchdog(LIMIT_S, lambda _: None)
        await asyncio.sleep(2 * LIMIT_S)
        watchdog.close()

    before = {thread for thread in threading.enumerate() if thread.name == "holdfast"}
    asyncio.run(watched())
    eventually(
        lambda: {thread for thread in threading.enumerate() if thread.name == "holdfast"} == before
    )
    assert LoopThread._mine == {} or before
