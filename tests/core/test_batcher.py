"""What goes the same way at the same moment travels together, and stays itself."""

import asyncio
import sys
import types
from collections.abc import Coroutine, Generator, Sequence
from typing import Any

import pytest

from faults.waiting import eventually_async
from holdfast.core.concurrency._async.batcher import Batcher

MOST = 4


class Way:
    """Where items travel: it waits to be opened, and remembers who came together."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.trips: list[list[int]] = []

    async def work(self, way: str, items: Sequence[int]) -> Sequence[Any]:
        """Double each item. A batch with 13 fails; of a batch with 7, only that item fails."""
        self.trips.append(list(items))
        await self.open.wait()
        if 13 in items:
            raise LookupError(way)
        return [KeyError(item) if item == 7 else 2 * item for item in items]


@pytest.fixture
async def way() -> Way:
    return Way()


@pytest.fixture
async def company(way: Way) -> Batcher[str, int, int]:
    return Batcher(way.work, MOST, 100)


async def one(company: Batcher[str, int, int], item: int, size: int = 1, way: str = "x") -> int:
    return await company.submit(way, item, size)


def all_of(company: Batcher[str, int, int], *items: int) -> list[asyncio.Task[int]]:
    """Submit several items at the same moment."""
    return [asyncio.create_task(one(company, item)) for item in items]


async def trips(way: Way, count: int) -> None:
    """Wait until *count* batches have started."""
    await eventually_async(lambda: len(way.trips) >= count, reason="they set off")


async def test_who_is_alone_goes_at_once(way: Way, company: Batcher[str, int, int]) -> None:
    way.open.set()
    assert await one(company, 1) == 2
    assert await one(company, 2) == 4
    assert way.trips == [[1], [2]]


async def test_those_of_one_moment_travel_together(
    way: Way, company: Batcher[str, int, int]
) -> None:
    tasks = all_of(company, *range(1, 7))
    await trips(way, 3)
    assert way.trips == [[1], [2, 3, 4, 5], [6]]
    way.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8, 10, 12]


async def test_nobody_waits_for_those_under_way(way: Way, company: Batcher[str, int, int]) -> None:
    tasks = all_of(company, 1, 2)
    await trips(way, 2)
    tasks += all_of(company, 3)
    await trips(way, 3)
    assert way.trips == [[1], [2], [3]]
    way.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6]


async def test_what_is_large_leaves_room_for_nobody(
    way: Way, company: Batcher[str, int, int]
) -> None:
    """It is the sizes that count, and one that is larger than all of them may be goes alone."""
    sizes = {1: 1, 2: 60, 3: 60, 4: 40, 5: 1000, 6: 1}
    tasks = [asyncio.create_task(one(company, item, size)) for item, size in sizes.items()]
    await trips(way, 5)
    assert way.trips == [[1], [2], [3, 4], [5], [6]]
    way.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8, 10, 12]


async def test_ways_do_not_mix(way: Way, company: Batcher[str, int, int]) -> None:
    tasks = [asyncio.create_task(one(company, n, way="xy"[n % 2])) for n in range(4)]
    await trips(way, 4)
    assert way.trips == [[0], [1], [2], [3]]
    way.open.set()
    assert await asyncio.gather(*tasks) == [0, 2, 4, 6]


async def test_one_that_fails_fails_alone(way: Way, company: Batcher[str, int, int]) -> None:
    tasks = all_of(company, 1, 6, 7, 8)
    await trips(way, 2)
    tasks += all_of(company, 5, 13)
    await trips(way, 3)
    way.open.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert way.trips == [[1], [6, 7, 8], [5, 13]]
    said = ["2", "12", "KeyError(7)", "16", "LookupError('x')", "LookupError('x')"]
    assert [repr(each) for each in found] == said
    assert await one(company, 1) == 2


async def test_who_is_cancelled_harms_nobody(way: Way, company: Batcher[str, int, int]) -> None:
    tasks = all_of(company, 1, 2, 3, 4)
    await asyncio.sleep(0)  # all are submitted, and only the first batch has started
    assert way.trips == [[1]]
    tasks[1].cancel()
    await trips(way, 2)
    assert way.trips == [[1], [3, 4]]
    tasks[2].cancel()
    way.open.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each).__name__ for each in found] == ["int", *["CancelledError"] * 2, "int"]
    assert found[3] == 8


async def rest(work: Coroutine[Any, Any, Any], awaited: Any) -> Any:
    """Run *work*, which waits for *awaited*, to its end. None: it has ended already."""
    while awaited is not None:
        await handed_on(awaited)
        try:
            awaited = work.send(None)
        except StopIteration as end:
            return end.value
    return None


@types.coroutine
def handed_on(awaited: Any) -> Generator[Any, Any, None]:
    """Wait for *awaited*, a future that the coroutine yielded before."""
    yield awaited


def begun_at_once(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
    """Return a task that has begun, like `asyncio.eager_task_factory` of Python 3.12."""
    try:
        awaited = work.send(None)
    except StopIteration:
        awaited = None
    return asyncio.Task(rest(work, awaited), loop=loop, **options)


FACTORIES = [begun_at_once]
if sys.version_info >= (3, 12):
    FACTORIES.append(asyncio.eager_task_factory)


@pytest.mark.parametrize("factory", FACTORIES)
async def test_a_loop_may_begin_tasks_at_once(
    way: Way, company: Batcher[str, int, int], factory: Any
) -> None:
    asyncio.get_running_loop().set_task_factory(factory)
    tasks = all_of(company, 1, 2, 3, 4)
    await trips(way, 2)
    assert way.trips == [[1], [2, 3, 4]]
    way.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8]


@pytest.mark.parametrize("turns", [1, 2])
async def test_a_company_that_is_cancelled_leaves_nobody_queued(
    way: Way, company: Batcher[str, int, int], turns: int
) -> None:
    there = asyncio.all_tasks()
    tasks = all_of(company, 1, 2, 3)
    for _ in range(turns):
        await asyncio.sleep(0)
    for task in asyncio.all_tasks() - there - set(tasks):
        task.cancel()
    found = await asyncio.wait_for(asyncio.gather(*tasks[1:], return_exceptions=True), 30)
    assert [type(each).__name__ for each in found] == ["CancelledError"] * 2
    way.open.set()
    assert await asyncio.wait_for(tasks[0], 30) == 2
    assert await one(company, 4) == 8
