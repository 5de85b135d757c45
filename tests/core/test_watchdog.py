"""The watchdog reports each blockage of an event loop once, and nothing else."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable

import pytest

from faults.waiting import eventually, eventually_async
from holdfast.core.concurrency.watchdog import Blockage, Watchdog

LIMIT_S = 0.2
AGAIN_S = 3 * LIMIT_S  # a second report would come within this time
PATIENT_S = 1.0  # the limit where no report is expected
IDLE_S = 1.5 * PATIENT_S


@pytest.fixture
def blockages() -> list[Blockage]:
    return []


@pytest.fixture
async def watchdog(blockages: list[Blockage]) -> AsyncIterator[Watchdog]:
    watchdog = Watchdog(LIMIT_S, blockages.append)
    yield watchdog
    watchdog.close()


@pytest.fixture
async def patient(blockages: list[Blockage]) -> AsyncIterator[Watchdog]:
    watchdog = Watchdog(PATIENT_S, blockages.append)
    yield watchdog
    watchdog.close()


def times(blockages: list[Blockage], task: str) -> int:
    """Count the reports that name a task; on a slow machine there may be others."""
    return [blockage.task for blockage in blockages].count(task)


def block(blockages: list[Blockage], task: str, count: int = 1) -> None:
    """Block the loop until the report, and then long enough for a second one."""
    eventually(lambda: times(blockages, task) == count, 30)
    time.sleep(AGAIN_S)


async def blocked_by(blockages: list[Blockage], task: str, count: int = 1) -> None:
    """Let a task of that name block the loop."""

    async def guilty() -> None:
        block(blockages, task, count)

    await asyncio.create_task(guilty(), name=task)
    await asyncio.sleep(AGAIN_S)  # the watchdog has seen the loop run again


async def test_a_blocked_loop_is_reported_once(
    blockages: list[Blockage], watchdog: Watchdog
) -> None:
    await blocked_by(blockages, "task 17")
    [blockage] = [blockage for blockage in blockages if blockage.task == "task 17"]
    assert LIMIT_S <= blockage.seconds < 30


async def test_the_place_is_where_the_loop_is(
    blockages: list[Blockage], watchdog: Watchdog
) -> None:
    """File, line and function of the innermost frame in Python: here the one that sleeps."""

    async def guilty() -> None:
        while not blockages:
            time.sleep(LIMIT_S / 10)  # noqa: ASYNC251

    async def is_named() -> bool:
        """Return whether the first report names the task; on a slow machine it may not."""
        blockages.clear()
        await asyncio.create_task(guilty(), name="task 18")
        return blockages[0].task == "task 18"

    await eventually_async(is_named)
    first = guilty.__code__.co_firstlineno
    assert blockages[0].where in [f"{__file__}:{first + n} in guilty" for n in (1, 2)]


async def test_each_time_is_reported(blockages: list[Blockage], watchdog: Watchdog) -> None:
    await blocked_by(blockages, "task 1")
    await blocked_by(blockages, "task 2")
    await blocked_by(blockages, "task 2", 2)
    assert times(blockages, "task 1") == 1
    assert times(blockages, "task 2") == 2


async def test_a_blockage_of_no_task_has_no_name(
    blockages: list[Blockage], watchdog: Watchdog
) -> None:
    asyncio.get_running_loop().call_soon(block, blockages, "")
    await eventually_async(lambda: blockages)
    assert times(blockages, "") == 1
    assert " in " in blockages[0].where


async def test_who_waits_for_a_thread_to_start_is_not_named(
    blockages: list[Blockage], watchdog: Watchdog
) -> None:
    """It starts as soon as the others let go of the interpreter: they are to blame."""

    class Hindered(threading.Thread):
        def _bootstrap(self) -> None:
            eventually(lambda: blockages, 30)
            super()._bootstrap()  # type: ignore[misc]

    async def innocent() -> None:
        Hindered(target=int).start()

    await asyncio.create_task(innocent(), name="innocent")
    assert times(blockages, "innocent") == 0
    assert "threading.py" in blockages[0].where


async def test_an_idle_loop_is_not_reported(blockages: list[Blockage], patient: Watchdog) -> None:
    """It sleeps for longer than the limit, and turns when it is asked."""
    await eventually_async(lambda: is_left_alone(blockages, asyncio.sleep(IDLE_S)))


async def test_a_busy_loop_is_not_reported(blockages: list[Blockage], patient: Watchdog) -> None:
    def compute(ends_at: float) -> None:
        while time.monotonic() < ends_at:
            sum(range(1000))

    async def busy(ends_at: float) -> None:
        while time.monotonic() < ends_at:
            time.sleep(LIMIT_S / 100)  # noqa: ASYNC251
            await asyncio.sleep(0)

    async def all_at_once() -> None:
        ends_at = time.monotonic() + IDLE_S
        thread = asyncio.to_thread(compute, ends_at)
        await asyncio.gather(thread, *(busy(ends_at) for _ in range(10)))

    await eventually_async(lambda: is_left_alone(blockages, all_at_once()))


async def is_left_alone(blockages: list[Blockage], work: Awaitable[None]) -> bool:
    """Return whether *work* causes no report; a slow machine may pause it past the limit."""
    blockages.clear()
    await work
    return not blockages


async def test_a_closed_watchdog_reports_nothing(
    blockages: list[Blockage], watchdog: Watchdog
) -> None:
    others: list[Blockage] = []
    other = Watchdog(LIMIT_S, others.append)
    await blocked_by(blockages, "first")
    other.close()
    await blocked_by(blockages, "second")
    assert times(blockages, "first") == times(blockages, "second") == 1
    assert times(others, "first") == 1
    assert times(others, "second") == 0


def test_a_loop_that_is_closed_is_not_reported(blockages: list[Blockage]) -> None:
    async def forgetful() -> Watchdog:
        return Watchdog(PATIENT_S, blockages.append)

    watchdog = asyncio.run(forgetful())
    eventually(watchdog._watching.done)
    watchdog._watching.result()
    assert blockages == []
    watchdog.close()


def test_only_its_own_loop_is_watched(blockages: list[Blockage]) -> None:
    eventually(lambda: is_not_blamed(blockages))


def is_not_blamed(blockages: list[Blockage]) -> bool:
    """Return whether a running loop causes no report; a slow machine may pause it too long."""
    begun = threading.Event()
    blockages.clear()

    async def innocent() -> None:
        watchdog = Watchdog(PATIENT_S, blockages.append)
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
    return not blockages


def test_a_watchdog_leaves_no_thread_behind() -> None:
    def private_loops() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "holdfast"}

    async def watched() -> None:
        watchdog = Watchdog(LIMIT_S, lambda _: None)
        assert private_loops()
        watchdog.close()

    before = private_loops()
    asyncio.run(watched())
    eventually(lambda: private_loops() == before)
