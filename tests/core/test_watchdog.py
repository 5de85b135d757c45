"""The watchdog tells of an event loop that does not turn: once each time, and only then."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator

import pytest

from faults.waiting import eventually, eventually_async
from holdfast.core.runtime.watchdog import Blockage, Watchdog

LIMIT_S = 0.2
AGAIN_S = 3 * LIMIT_S  # within that, it has told once more, if it does
PATIENT_S = 1.0  # the limit where nothing is to be told: no machine is so slow
IDLE_S = 1.5 * PATIENT_S


@pytest.fixture
def told() -> list[Blockage]:
    return []


@pytest.fixture
async def watchdog(told: list[Blockage]) -> AsyncIterator[Watchdog]:
    watchdog = Watchdog(LIMIT_S, told.append)
    yield watchdog
    watchdog.close()


@pytest.fixture
async def patient(told: list[Blockage]) -> AsyncIterator[Watchdog]:
    watchdog = Watchdog(PATIENT_S, told.append)
    yield watchdog
    watchdog.close()


def times(told: list[Blockage], task: str) -> int:
    """How often a task was named; on a slow machine someone else may be as well."""
    return [blockage.task for blockage in told].count(task)


def block(told: list[Blockage], task: str, count: int = 1) -> None:
    """Keep the loop from turning until that is told, and then for long enough to tell it again."""
    eventually(lambda: times(told, task) == count, 30)
    time.sleep(AGAIN_S)


async def blocked_by(told: list[Blockage], task: str, count: int = 1) -> None:
    """Let a task of that name block the loop."""

    async def guilty() -> None:
        block(told, task, count)

    await asyncio.create_task(guilty(), name=task)
    await asyncio.sleep(AGAIN_S)  # now it has seen the loop turn


async def test_a_blocked_loop_is_told_once(told: list[Blockage], watchdog: Watchdog) -> None:
    """However long it lasts; with the name of the task, and the time so far."""
    await blocked_by(told, "task 17")
    [blockage] = [blockage for blockage in told if blockage.task == "task 17"]
    assert LIMIT_S <= blockage.seconds < 30


async def test_the_place_is_where_the_loop_is(told: list[Blockage], watchdog: Watchdog) -> None:
    """File, line and function of the innermost frame in Python: here the one that sleeps."""

    async def guilty() -> None:
        time.sleep(5 * LIMIT_S)  # noqa: ASYNC251

    await asyncio.create_task(guilty(), name="task 18")
    [blockage] = [blockage for blockage in told if blockage.task == "task 18"]
    line = guilty.__code__.co_firstlineno + 1
    assert blockage.where == f"{__file__}:{line} in guilty"


async def test_each_time_is_told(told: list[Blockage], watchdog: Watchdog) -> None:
    """Of one task, then twice of another one."""
    await blocked_by(told, "task 1")
    await blocked_by(told, "task 2")
    await blocked_by(told, "task 2", 2)
    assert times(told, "task 1") == 1
    assert times(told, "task 2") == 2


async def test_a_blockage_of_no_task_has_no_name(told: list[Blockage], watchdog: Watchdog) -> None:
    """A callback of the loop, say."""
    asyncio.get_running_loop().call_soon(block, told, "")
    await eventually_async(lambda: told)
    assert times(told, "") == 1
    assert " in " in told[0].where


async def test_who_waits_for_a_thread_to_start_is_not_named(
    told: list[Blockage], watchdog: Watchdog
) -> None:
    """It starts as soon as the others let go of the interpreter: they are to blame."""

    class Hindered(threading.Thread):
        def _bootstrap(self) -> None:
            eventually(lambda: told, 30)
            super()._bootstrap()  # type: ignore[misc]

    async def innocent() -> None:
        Hindered(target=int).start()

    await asyncio.create_task(innocent(), name="innocent")
    assert times(told, "innocent") == 0
    assert "threading.py" in told[0].where


async def test_an_idle_loop_is_not_told(told: list[Blockage], patient: Watchdog) -> None:
    """It sleeps for longer than the limit, and turns when it is asked."""
    await asyncio.sleep(IDLE_S)
    assert told == []


async def test_a_busy_loop_is_not_told(told: list[Blockage], patient: Watchdog) -> None:
    """Short turns one after the other, from many tasks, beside a thread that computes."""
    ends_at = time.monotonic() + IDLE_S

    def compute() -> None:
        while time.monotonic() < ends_at:
            sum(range(1000))

    async def busy() -> None:
        while time.monotonic() < ends_at:
            time.sleep(LIMIT_S / 100)  # noqa: ASYNC251
            await asyncio.sleep(0)

    await asyncio.gather(asyncio.to_thread(compute), *(busy() for _ in range(10)))
    assert told == []


async def test_a_closed_watchdog_tells_nothing(told: list[Blockage], watchdog: Watchdog) -> None:
    """Another one of the same loop goes on."""
    others: list[Blockage] = []
    other = Watchdog(LIMIT_S, others.append)
    await blocked_by(told, "first")
    other.close()
    await blocked_by(told, "second")
    assert times(told, "first") == times(told, "second") == 1
    assert times(others, "first") == 1
    assert times(others, "second") == 0


def test_a_loop_that_is_closed_is_not_told(told: list[Blockage]) -> None:
    """It ended without closing its watchdog: that one gives up, and nobody is disturbed."""

    async def forgetful() -> Watchdog:
        return Watchdog(LIMIT_S, told.append)

    watchdog = asyncio.run(forgetful())
    eventually(watchdog._watching.done)
    assert watchdog._watching.exception() is None
    assert told == []
    watchdog.close()


def test_only_its_own_loop_is_watched(told: list[Blockage]) -> None:
    """A loop of another thread may be blocked meanwhile."""
    begun = threading.Event()

    async def innocent() -> None:
        watchdog = Watchdog(PATIENT_S, told.append)
        begun.set()
        await asyncio.sleep(IDLE_S)
        watchdog.close()

    async def guilty() -> None:
        begun.wait(10)
        time.sleep(IDLE_S)  # noqa: ASYNC251

    thread = threading.Thread(target=lambda: asyncio.run(guilty()))
    thread.start()
    asyncio.run(innocent())
    thread.join()
    assert told == []


def test_a_watchdog_leaves_no_thread_behind() -> None:
    """The private loop ends with its last user."""

    def private_loops() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "holdfast"}

    async def watched() -> None:
        watchdog = Watchdog(LIMIT_S, lambda _: None)
        assert private_loops()
        watchdog.close()

    before = private_loops()
    asyncio.run(watched())
    eventually(lambda: private_loops() == before)
