"""Limits, schedules, unique tasks and groups hold for all partitions of a queue together."""

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, Every, Limit
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.testing._async.task_bench import AsyncTaskBench
from holdfast.testing.background_worker import AsyncBackgroundWorker
from queues.partitions.whole_tasks import (
    QUEUE,
    any_task,
    forget,
    most,
    once,
    ran,
    tasks,
    two_an_hour,
    two_at_once,
)

TENANTS = [f"tenant {n}" for n in range(12)]
SLOTS = 32
"""Tasks that a worker runs at once: more than any limit here."""


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    forget()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def work(hf: AsyncHoldfast, count: int) -> None:
    """Let two workers run until *count* tasks have run."""
    one, other = (hf.worker(tasks, concurrency=SLOTS) for _ in range(2))
    async with AsyncBackgroundWorker(one), AsyncBackgroundWorker(other):
        await eventually_async(lambda: len(ran) >= count, 30)


async def drain(hf: AsyncHoldfast) -> None:
    """Run all tasks that may start now."""
    await AsyncTaskBench(hf).drain(tasks)


async def test_the_concurrency_of_a_queue_is_not_exceeded(hf: AsyncHoldfast) -> None:
    queue = hf.queue(QUEUE, partitions=4)
    await queue.limit(concurrency=6)
    for first in range(0, 120, 30):
        await hf.enqueue_many([any_task.call(n) for n in range(first, first + 30)])
    assert [each.ready for each in (await queue.partitions()).values()] == [30] * 4
    await work(hf, 120)
    assert sorted(number for _, number in ran) == list(range(120))
    assert most["any"] <= 6


async def test_the_rate_of_a_queue_is_not_exceeded(hf: AsyncHoldfast) -> None:
    """Each partition starts its share, and no task is left that may start."""
    queue = hf.queue(QUEUE, partitions=4)
    await queue.limit(rate=Limit(20, per=3600.0))
    for first in range(0, 120, 30):
        await hf.enqueue_many([any_task.call(n) for n in range(first, first + 30)])
    await work(hf, 20)
    assert len(ran) == 20
    assert [each.ready for each in (await queue.partitions()).values()] == [25] * 4


async def test_the_concurrency_of_a_key_is_not_exceeded(hf: AsyncHoldfast) -> None:
    queue = hf.queue(QUEUE, partitions=4)
    await hf.enqueue_many([two_at_once.call(tenant, n) for n in range(5) for tenant in TENANTS])
    await queue.repartition(7)
    await hf.enqueue_many([two_at_once.call(tenant, n) for n in range(5, 10) for tenant in TENANTS])
    await work(hf, 10 * len(TENANTS))
    assert Counter(tenant for tenant, _ in ran) == dict.fromkeys(TENANTS, 10)
    assert max(most.values()) <= 2


async def test_the_rate_of_a_key_is_remembered_when_the_number_changes(hf: AsyncHoldfast) -> None:
    queue = hf.queue(QUEUE, partitions=4)
    await hf.enqueue_many([two_an_hour.call(tenant, 1) for tenant in TENANTS])
    await drain(hf)
    assert (await queue.stats()).ready == 0  # only the rates are left
    for partitions in (7, 2):
        await queue.repartition(partitions)
        await hf.enqueue_many([two_an_hour.call(tenant, 2) for tenant in TENANTS])
        await drain(hf)
    assert Counter(tenant for tenant, _ in ran) == dict.fromkeys(TENANTS, 2)


async def test_a_unique_task_is_one_for_all_producers(site: Site, hf: AsyncHoldfast) -> None:
    hf.queue(QUEUE, partitions=4)
    calls = [once.call(user) for user in range(60)]
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other:
        first, second = await hf.enqueue_many(calls), await other.enqueue_many(calls)
    assert first == second
    assert (await hf.queue(QUEUE).stats()).ready == 60
    await work(hf, 60)
    assert sorted(user for _, user in ran) == list(range(60))


async def test_a_schedule_fires_each_instant_once(site: Site, hf: AsyncHoldfast) -> None:
    """Also after a change of the number, with several workers that serve all partitions."""
    queue = hf.queue(QUEUE, partitions=4)
    handle = await hf.schedule("each", any_task.call(1), Every(3600), missed="all")
    unit = Namespace.of(site.namespace).unit(keys.KIND, QUEUE)
    for rounds, partitions in enumerate((4, 7), start=1):
        await queue.repartition(partitions)
        status = await handle.status()
        assert status.next_at is not None
        due_ms = round(status.next_at.timestamp() * 1000) - 3 * 3_600_000
        site.client.zadd(keys.schedule_times(unit), {"each": due_ms})  # three instants are due
        await work(hf, 3 * rounds)
    assert (await handle.status()).fired == len(ran) == 6


async def test_a_group_with_limited_tasks_is_refused(hf: AsyncHoldfast) -> None:
    """Its members would be in the first partition, and others of the key in that of the key."""
    hf.queue(QUEUE, partitions=4)
    limited = two_at_once.call("acme", 1)
    for members, then in (([any_task.call(1), limited], None), ([any_task.call(1)], limited)):
        with pytest.raises(ValueError, match=f"queue '{QUEUE}' has partitions, so members of"):
            await hf.enqueue_group(members, then=then)
    assert await hf.groups() == []
    assert (await hf.queue(QUEUE).stats()).ready == 0
    await hf.queue(QUEUE).repartition(1)
    handle = await hf.enqueue_group([limited])
    await hf.worker(tasks).run(until_idle=True)
    assert (await handle.wait(timeout=60)).state == "done"


async def test_members_of_a_group_and_what_follows_it_run(hf: AsyncHoldfast) -> None:
    hf.queue(QUEUE, partitions=4)
    members = [any_task.call(n) for n in range(10)]
    await hf.enqueue_group(members, then=any_task.call(10))
    await hf.queue(QUEUE).repartition(6)
    await work(hf, 11)
    assert ran[-1] == ("any", 10)
    assert sorted(number for _, number in ran) == list(range(11))
