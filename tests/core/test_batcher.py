"""Items with the same key that are submitted together form one batch; each has its own result."""

import asyncio
import sys
import types
from collections.abc import Coroutine, Generator, Sequence
from typing import Any

import pytest

from faults.waiting import eventually_async
from holdfast.core.concurrency._async.batcher import Batcher

MOST = 4


class RecordedBatches:
    """The work of a batcher: it waits to be opened, and records the items of each batch."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.batches: list[list[int]] = []

    async def work(self, key: str, items: Sequence[int]) -> Sequence[Any]:
        """Double each item. A batch with 13 fails; of a batch with 7, only that item fails."""
        self.batches.append(list(items))
        await self.open.wait()
        if 13 in items:
            raise LookupError(key)
        return [KeyError(item) if item == 7 else 2 * item for item in items]


@pytest.fixture
async def recorded() -> RecordedBatches:
    return RecordedBatches()


@pytest.fixture
async def batcher(recorded: RecordedBatches) -> Batcher[str, int, int]:
    return Batcher(recorded.work, MOST, 100)


async def one(batcher: Batcher[str, int, int], item: int, size: int = 1, key: str = "x") -> int:
    return await batcher.submit(key, item, size)


def all_of(batcher: Batcher[str, int, int], *items: int) -> list[asyncio.Task[int]]:
    """Submit several items at the same moment."""
    return [asyncio.create_task(one(batcher, item)) for item in items]


async def batches_started(recorded: RecordedBatches, count: int) -> None:
    """Wait until *count* batches have started."""
    await eventually_async(
        lambda: len(recorded.batches) >= count, reason="the batches have started"
    )


async def test_a_single_item_is_sent_at_once(
    recorded: RecordedBatches, batcher: Batcher[str, int, int]
) -> None:
    recorded.open.set()
    assert await one(batcher, 1) == 2
    assert await one(batcher, 2) == 4
    assert recorded.batches == [[1], [2]]


async def test_items_of_one_moment_form_a_batch(
    recorded: RecordedBatches, batcher: Batcher[str, int, int]
) -> None:
    tasks = all_of(batcher, *range(1, 7))
    await batches_started(recorded, 3)
    assert recorded.batches == [[1], [2, 3, 4, 5], [6]]
    recorded.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8, 10, 12]


async def test_no_item_waits_for_a_running_batch(
    recorded: RecordedBatches, batcher: Batcher[str, int, int]
) -> None:
    tasks = all_of(batcher, 1, 2)
    await batches_started(recorded, 2)
    tasks += all_of(batcher, 3)
    await batches_started(recorded, 3)
    assert recorded.batches == [[1], [2], [3]]
    recorded.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6]


async def test_the_size_of_a_batch_is_limited(
    recorded: RecordedBatches, batcher: Batcher[str, int, int]
) -> None:
    """It is the sizes that count, and one that is larger than all of them may be goes alone."""
    sizes = {1: 1, 2: 60, 3: 60, 4: 40, 5: 1000, 6: 1}
    tasks = [asyncio.create_task(one(batcher, item, size)) for item, size in sizes.items()]
    await batches_started(recorded, 5)
    assert recorded.batches == [[1], [2], [3, 4], [5], [6]]
    recorded.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8, 10, 12]


async def test_keys_do_not_mix(recorded: RecordedBatches, batcher: Batcher[str, int, int]) -> None:
    tasks = [asyncio.create_task(one(batcher, n, key="xy"[n % 2])) for n in range(4)]
    await batches_started(recorded, 4)
    assert recorded.batches == [[0], [1], [2], [3]]
    recorded.open.set()
    assert await asyncio.gather(*tasks) == [0, 2, 4, 6]


async def test_an_item_that_fails_fails_alone(
    recorded: RecordedBatches, batcher: Batcher[str, int, int]
) -> None:
    tasks = all_of(batcher, 1, 6, 7, 8)
    await batches_started(recorded, 2)
    tasks += all_of(batcher, 5, 13)
    await batches_started(recorded, 3)
    recorded.open.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert recorded.batches == [[1], [6, 7, 8], [5, 13]]
    expected = ["2", "12", "KeyError(7)", "16", "LookupError('x')", "LookupError('x')"]
    assert [repr(each) for each in found] == expected
    assert await one(batcher, 1) == 2


async def test_a_cancelled_item_harms_no_other(
    recorded: RecordedBatches, batcher: Batcher[str, int, int]
) -> None:
    tasks = all_of(batcher, 1, 2, 3, 4)
    await asyncio.sleep(0)  # all are submitted, and only the first batch has started
    assert recorded.batches == [[1]]
    tasks[1].cancel()
    await batches_started(recorded, 2)
    assert recorded.batches == [[1], [3, 4]]
    tasks[2].cancel()
    recorded.open.set()
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
    recorded: RecordedBatches, batcher: Batcher[str, int, int], factory: Any
) -> None:
    asyncio.get_running_loop().set_task_factory(factory)
    tasks = all_of(batcher, 1, 2, 3, 4)
    await batches_started(recorded, 2)
    assert recorded.batches == [[1], [2, 3, 4]]
    recorded.open.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8]


@pytest.mark.parametrize("turns", [1, 2])
async def test_a_cancelled_batcher_leaves_no_item_queued(
    recorded: RecordedBatches, batcher: Batcher[str, int, int], turns: int
) -> None:
    there = asyncio.all_tasks()
    tasks = all_of(batcher, 1, 2, 3)
    for _ in range(turns):
        await asyncio.sleep(0)
    for task in asyncio.all_tasks() - there - set(tasks):
        task.cancel()
    found = await asyncio.wait_for(asyncio.gather(*tasks[1:], return_exceptions=True), 30)
    assert [type(each).__name__ for each in found] == ["CancelledError"] * 2
    recorded.open.set()
    assert await asyncio.wait_for(tasks[0], 30) == 2
    assert await one(batcher, 4) == 8


async def test_full_batches_of_one_moment_are_sent_one_turn_after_the_other() -> None:
    """So the first one is written before the next one is packed, and the server begins with it."""
    turn = 0
    begun: dict[int, list[int]] = {}

    async def work(key: str, items: Sequence[int]) -> Sequence[Any]:
        begun.setdefault(turn, []).append(len(items))
        await asyncio.sleep(0.05)
        return items

    batcher: Batcher[str, int, int] = Batcher(work, MOST, 100)
    submitted = asyncio.gather(*all_of(batcher, *range(2 * MOST + 1)), *all_of(batcher, 1))
    others = asyncio.gather(*[one(batcher, 1, key=key) for key in "abcabc"])
    for turn in range(1, 10):  # noqa: B007 (`work` reads it)
        await asyncio.sleep(0)
    await asyncio.gather(submitted, others)
    full = [turn for turn, sizes in sorted(begun.items()) if MOST in sizes]
    assert len(full) == 2
    assert full[1] == full[0] + 1
    # Batches of other keys do not wait for them, nor for each other.
    assert begun[full[0]] == [MOST, 1, 1, 1]
