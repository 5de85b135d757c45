"""Queues with partitions: which partition a task goes to, and what holds for the whole queue."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conftest import Site
from holdfast import (
    AsyncHoldfast,
    DefinitionConflict,
    Every,
    Limit,
    QueueAtCapacity,
)
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.partitions.layout import partition_name
from holdfast.testing._async.task_bench import AsyncTaskBench
from queues.partitions.partitioned_tasks import (
    QUEUE,
    limited,
    one_within_the_other,
    plain,
    ran,
    tasks,
    two_keys,
    unique,
)


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    ran.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def drain(hf: AsyncHoldfast) -> None:
    await AsyncTaskBench(hf).drain(tasks, queues=[QUEUE])


async def sizes(hf: AsyncHoldfast) -> list[int]:
    """Return how many tasks wait in each partition."""
    found = await hf.queue(QUEUE).partitions()
    return [each.ready + each.delayed for each in found.values()]


def where(site: Site, partitions: int) -> list[list[list[int]]]:
    """Return the arguments of the waiting tasks of each partition, the next ready one first."""
    found = []
    for index in range(partitions):
        unit = Namespace.of(site.namespace).unit(keys.KIND, partition_name(QUEUE, index))
        bodies: Any = site.client.hgetall(keys.bodies(unit))
        ids: Any = site.client.lrange(keys.ready(unit)[1], 0, -1)
        arguments = {key: json.loads(body).get("args", []) for key, body in bodies.items()}
        found.append([arguments.pop(each) for each in ids] + list(arguments.values()))
    return found


async def test_tasks_are_spread_and_all_run(site: Site, hf: AsyncHoldfast) -> None:
    queue = hf.queue(QUEUE, partitions=4)
    handles = await hf.enqueue_many([plain.call(n) for n in range(1000)])
    handles += [await hf.enqueue(plain.call(n)) for n in range(1000, 1040)]
    found = await sizes(hf)
    assert sum(found) == 1040
    assert len(found) == 4
    assert min(found) >= 200
    stats = await queue.stats()
    assert (stats.ready, stats.partitions) == (1040, 4)
    assert await hf.queues() == [QUEUE]
    assert len(await queue.tasks(limit=1000)) == 1000
    assert [handle.queue for handle in handles[:2]] == [QUEUE, QUEUE]
    await drain(hf)
    assert sorted(map(int, map(str, ran))) == list(range(1040))
    assert await handles[7].result(timeout=0) == 14
    assert await queue.handle(handles[1033].task_id).result(timeout=0) == 2066
    assert (await queue.stats()).ready == 0
    assert sum(minute.done for minute in await queue.throughput()) == 1040
    history = await queue.history(limit=100)
    assert len(history) == 100
    assert [each.ended_at for each in history] == sorted(
        (each.ended_at for each in history), reverse=True
    )
    with pytest.raises(ValueError, match="has partitions, each with numbers"):
        await queue.history(before=7)
    assert await hf.queue(f"{QUEUE}/1").history(before=7)


async def test_a_producer_that_does_not_know_of_partitions_learns_it(
    site: Site, hf: AsyncHoldfast
) -> None:
    await hf.enqueue(plain.call(0))
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other:
        await other.queue(QUEUE).repartition(3)
    await hf.enqueue_many([plain.call(n) for n in range(1, 601)])
    assert sum(await sizes(hf)) == 601
    assert min(await sizes(hf)) > 0
    await hf.queue(QUEUE).repartition(1)
    assert (await hf.queue(QUEUE).stats()).partitions == 1
    await drain(hf)
    assert sorted(map(int, map(str, ran))) == list(range(601))


async def test_tasks_with_a_partition_key_are_in_order_in_one_partition(
    site: Site, hf: AsyncHoldfast
) -> None:
    hf.queue(QUEUE, partitions=8)
    for n in range(40):
        await hf.enqueue(plain.call(n).options(partition_key=f"user {n % 4}"))
    found = [[n for [n] in each] for each in where(site, 8)]
    assert all(numbers == sorted(numbers) for numbers in found)
    places = {n: index for index, numbers in enumerate(found) for n in numbers}
    assert len(places) == 40
    assert all(places[n] == places[n % 4] for n in range(40))


async def test_unique_tasks_stay_unique_when_the_number_changes(hf: AsyncHoldfast) -> None:
    first = [await hf.enqueue(unique.call(user)) for user in range(20)]
    for number in (8, 3, 1, 5):
        await hf.queue(QUEUE).repartition(number)
        again = [await hf.enqueue(unique.call(user)) for user in range(20)]
        assert again == first
        assert {handle.enqueued for handle in again} == {"existing"}
        assert await hf.enqueue_many([unique.call(user) for user in range(20)]) == first
    assert sum(await sizes(hf)) == 20
    await drain(hf)
    assert sorted(map(str, ran)) == sorted(str(("unique", user)) for user in range(20))
    # Free keys go where the layout says now.
    await hf.enqueue_many([unique.call(user) for user in range(200)])
    found = await sizes(hf)
    assert sum(found) == 200
    assert min(found[:5]) > 0


async def test_tasks_of_a_limit_key_follow_those_that_wait(site: Site, hf: AsyncHoldfast) -> None:
    await hf.enqueue_many([limited.call(user, n) for n in range(3) for user in range(10)])
    await hf.queue(QUEUE).repartition(6)
    await hf.enqueue_many([limited.call(user, n) for n in range(3, 6) for user in range(20)])
    found = where(site, 6)
    for user in range(20):
        holders = [index for index, each in enumerate(found) if user in [who for who, _ in each]]
        assert holders == [0] if user < 10 else len(holders) == 1
    assert any(found[1:])
    assert sum(await sizes(hf)) == 90
    await drain(hf)
    for user in range(20):
        numbers = [n for u, n in ran if u == user]  # type: ignore[misc]
        assert numbers == sorted(numbers)
    assert len(ran) == 90
    await hf.enqueue_many([limited.call(user, 9) for user in range(60)])
    assert min(await sizes(hf)) > 0


async def test_a_repeated_operation_is_one_after_a_change(hf: AsyncHoldfast) -> None:
    calls = [plain.call(n) for n in range(700)] + [unique.call(n) for n in range(50)]
    one = await hf.enqueue(plain.call(1000), op_id="one")
    many = await hf.enqueue_many(calls, op_id="many")
    for number in (4, 2, 7):
        await hf.queue(QUEUE).repartition(number)
        assert await hf.enqueue(plain.call(1000), op_id="one") == one
        assert await hf.enqueue_many(calls, op_id="many") == many
        later = await hf.enqueue_many(calls[:300], op_id=f"many {number}")
        assert await hf.enqueue_many(calls[:300], op_id=f"many {number}") == later
    assert sum(await sizes(hf)) == 751 + 3 * 300
    assert await hf.enqueue_many(calls[:300], op_id="many 2") != later
    assert await hf.enqueue_many(calls, op_id="many") == many
    assert sum(await sizes(hf)) == 751 + 3 * 300
    await drain(hf)
    assert await hf.enqueue(plain.call(1000), op_id="one") == one
    assert sum(await sizes(hf)) == 0


async def test_an_id_is_known_after_a_change(hf: AsyncHoldfast) -> None:
    calls = [plain.call(n).options(task_id=f"id-{n}") for n in range(30)]
    handles = await hf.enqueue_many(calls)
    await hf.queue(QUEUE).repartition(5)
    assert [handle.enqueued for handle in await hf.enqueue_many(calls)] == ["existing"] * 30
    assert (await hf.queue(QUEUE).handle("id-7").status()).state == "queued"
    assert await hf.queue(QUEUE).handle("id-7").cancel()
    assert (await handles[7].status()).state == "cancelled"
    assert (await hf.queue(QUEUE).handle("nobody").status()).state == "unknown"


async def test_settings_hold_for_all_partitions_and_for_new_ones(hf: AsyncHoldfast) -> None:
    queue = hf.queue(QUEUE)
    await queue.redefine(capacity=100)
    await queue.limit(concurrency=8, rate=Limit(40, per=1.0))
    await queue.pause()
    await queue.repartition(4)
    parts = await queue.partitions()
    assert [each.capacity for each in parts.values()] == [25] * 4
    assert [each.concurrency for each in parts.values()] == [2] * 4
    assert [each.rate for each in parts.values()] == [(10, 1.0)] * 4
    assert all(each.paused for each in parts.values())
    stats = await queue.stats()
    assert (stats.capacity, stats.concurrency, stats.rate) == (100, 8, (40, 1.0))
    await queue.repartition(6)
    assert [each.capacity for each in (await queue.partitions()).values()] == [17] * 4 + [16] * 2
    assert (await queue.stats()).capacity == 100
    assert all(each.paused for each in (await queue.partitions()).values())
    await queue.redefine(capacity=12)
    await queue.limit(concurrency=12)
    assert [each.capacity for each in (await queue.partitions()).values()] == [2] * 6
    assert (await queue.stats()).rate == (40, 1.0)
    with pytest.raises(QueueAtCapacity):
        await hf.enqueue_many([plain.call(n) for n in range(13)])
    await queue.resume()
    assert not any(each.paused for each in (await queue.partitions()).values())
    with pytest.raises(ValueError, match="the capacity of queue 'spread' is 12"):
        await queue.repartition(13)
    with pytest.raises(ValueError, match="the concurrency of queue 'spread' is 5"):
        await queue.limit(concurrency=5)
    await queue.repartition(1)
    assert (await queue.stats()).capacity == 12


async def test_settings_of_a_queue_that_is_not_divided_yet_may_change(hf: AsyncHoldfast) -> None:
    queue = hf.queue(QUEUE)
    for number in (6, 7):
        await queue.redefine(capacity=number)
        await queue.limit(concurrency=number)
        await queue.repartition(1)
        stats = await queue.stats()
        assert (stats.capacity, stats.concurrency) == (number, number)
    await queue.redefine(capacity=None)
    await queue.limit(concurrency=9)
    await queue.repartition(3)
    stats = await queue.stats()
    assert (stats.capacity, stats.concurrency) == (None, 9)


async def test_a_capacity_in_code_is_that_of_the_whole(site: Site, hf: AsyncHoldfast) -> None:
    hf.queue(QUEUE, capacity=40, partitions=4)
    await hf.enqueue(plain.call(1))
    assert (await hf.queue(QUEUE).stats()).capacity == 40
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as other:
        other.queue(QUEUE, capacity=41, on_conflict="error")
        with pytest.raises(DefinitionConflict, match="capacity"):
            await other.enqueue(plain.call(1))
        other.queue(QUEUE, capacity=44, partitions=8, on_conflict="error")
        with pytest.raises(DefinitionConflict, match="number of partitions"):
            await other.enqueue(plain.call(1))
        other.queue(QUEUE, capacity=44, partitions=8, on_conflict="update")
        await other.enqueue(plain.call(1))
    stats = await hf.queue(QUEUE).stats()
    assert (stats.capacity, stats.partitions, stats.ready) == (44, 8, 2)


async def test_partitions_that_are_not_needed_are_served_until_they_are_empty(
    site: Site, hf: AsyncHoldfast
) -> None:
    queue = hf.queue(QUEUE, partitions=5)
    await hf.enqueue_many([plain.call(n) for n in range(500)])
    await queue.repartition(2)
    before = await sizes(hf)
    assert len(before) == 5
    await hf.enqueue_many([plain.call(n) for n in range(500, 1000)])
    assert (await sizes(hf))[2:] == before[2:]
    assert await queue.purge() == 1000
    await queue.repartition(2)
    assert len(await queue.partitions()) == 2
    await hf.enqueue_many([plain.call(n) for n in range(500)])
    assert sum(await sizes(hf)) == 500


async def test_dead_tasks_of_all_partitions_are_replayed_and_purged(hf: AsyncHoldfast) -> None:
    queue = hf.queue(QUEUE, partitions=3)
    calls = [plain.call(n).options(expires=0.001) for n in range(300)]
    await hf.enqueue_many(calls)
    await drain(hf)
    dead = await queue.dead(limit=1000)
    assert len(dead) == 300
    assert await queue.replay([task.task_id for task in dead[:10]]) == 10
    assert await queue.replay(op_id="all") == 290
    assert await queue.replay(op_id="all") == 290
    assert await queue.purge(op_id="away") == 300
    assert await queue.purge(op_id="away") == 300
    assert (await queue.stats()).ready == 0


async def test_keys_that_belong_to_several_partitions_are_refused(hf: AsyncHoldfast) -> None:
    hf.queue(QUEUE, partitions=3)
    await hf.enqueue(one_within_the_other.call(1, 2))
    with pytest.raises(ValueError, match="different keys for unique and for its limit"):
        await hf.enqueue(two_keys.call(1, 2))
    with pytest.raises(ValueError, match="different keys for unique and for its limit"):
        await hf.enqueue_many([plain.call(1), two_keys.call(1, 2)])
    with pytest.raises(ValueError, match="give no partition_key"):
        await hf.enqueue(unique.call(1).options(partition_key="x"))
    with pytest.raises(ValueError, match="schedules of a queue with partitions cannot"):
        await hf.schedule("each", unique.call(1), Every(60.0))
    await hf.schedule("each", plain.call(1), Every(60.0))
    with pytest.raises(ValueError, match="is a partition of queue 'spread'"):
        await hf.enqueue(plain.call(1).options(queue=f"{QUEUE}/1"))
    with pytest.raises(ValueError, match="is a partition of queue 'spread'"):
        await hf.queue(f"{QUEUE}/1").repartition(2)
    assert sum(await sizes(hf)) == 1


async def test_a_queue_with_the_name_of_a_partition_is_refused(hf: AsyncHoldfast) -> None:
    await hf.enqueue(plain.call(1).options(queue=f"{QUEUE}/2"))
    with pytest.raises(DefinitionConflict, match="the name 'spread/2'"):
        await hf.queue(QUEUE).repartition(3)
    await hf.enqueue(plain.call(1))
    await hf.schedule("each", unique.call(1), Every(60.0))
    with pytest.raises(ValueError, match="schedules of a queue with partitions cannot"):
        await hf.queue(QUEUE).repartition(2)
    assert (await hf.queue(QUEUE).stats()).partitions == 1


async def test_a_layout_that_the_server_has_lost_is_healed(site: Site, hf: AsyncHoldfast) -> None:
    queue, unit = hf.queue(QUEUE), Namespace.of(site.namespace).unit(keys.KIND, QUEUE)
    await queue.repartition(3)
    await hf.enqueue_many([plain.call(n) for n in range(300)])
    before = site.client.hget(keys.settings(unit), "layout")
    await queue.repartition(4)
    await hf.enqueue_many([plain.call(n) for n in range(300)])
    site.client.hset(keys.settings(unit), "layout", before)
    handles = [await hf.enqueue(plain.call(n)) for n in range(20)]
    assert sum(await sizes(hf)) == 620 - len(await hf.queue(f"{QUEUE}/3").tasks(limit=1000))
    await queue.repartition(4)
    assert sum(await sizes(hf)) == 620
    await drain(hf)
    assert await handles[3].result(timeout=0) == 6


async def test_too_many_changes_are_refused(hf: AsyncHoldfast) -> None:
    queue = hf.queue(QUEUE)
    for number in (2, 3, 2, 3, 2, 3, 2, 3):
        await queue.repartition(number)
    await queue.repartition(3)
    with pytest.raises(DefinitionConflict, match="after too many changes"):
        await queue.repartition(2)
    await hf.enqueue_many([plain.call(n) for n in range(300)])
    assert sum(await sizes(hf)) == 300
