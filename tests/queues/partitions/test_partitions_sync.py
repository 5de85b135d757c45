# Generated from test_partitions_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Queues with partitions: which partition a task goes to, and what holds for the whole queue."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Site
from holdfast import (
    DefinitionConflict,
    Every,
    Holdfast,
    Limit,
    QueueAtCapacity,
)
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.queues.partitions.layout import partition_name
from holdfast.testing._sync.task_bench import TaskBench
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
def hf(site: Site) -> Iterator[Holdfast]:
    ran.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def drain(hf: Holdfast) -> None:
    TaskBench(hf).drain(tasks, queues=[QUEUE])


def sizes(hf: Holdfast) -> list[int]:
    """Return how many tasks wait in each partition."""
    found = hf.queue(QUEUE).partitions()
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


def test_tasks_are_spread_and_all_run(site: Site, hf: Holdfast) -> None:
    queue = hf.queue(QUEUE, partitions=4)
    handles = hf.enqueue_many([plain.call(n) for n in range(1000)])
    handles += [hf.enqueue(plain.call(n)) for n in range(1000, 1040)]
    found = sizes(hf)
    assert sum(found) == 1040
    assert len(found) == 4
    assert min(found) >= 200
    stats = queue.stats()
    assert (stats.ready, stats.partitions) == (1040, 4)
    assert hf.queues() == [QUEUE]
    assert len(queue.tasks(limit=1000)) == 1000
    assert [handle.queue for handle in handles[:2]] == [QUEUE, QUEUE]
    drain(hf)
    assert sorted(map(int, map(str, ran))) == list(range(1040))
    assert handles[7].result(timeout=0) == 14
    assert queue.handle(handles[1033].task_id).result(timeout=0) == 2066
    assert (queue.stats()).ready == 0
    assert sum(minute.done for minute in queue.throughput()) == 1040
    history = queue.history(limit=100)
    assert len(history) == 100
    assert [each.ended_at for each in history] == sorted(
        (each.ended_at for each in history), reverse=True
    )
    with pytest.raises(ValueError, match="has partitions, each with numbers"):
        queue.history(before=7)
    assert hf.queue(f"{QUEUE}/1").history(before=7)


def test_a_producer_that_does_not_know_of_partitions_learns_it(site: Site, hf: Holdfast) -> None:
    hf.enqueue(plain.call(0))
    with Holdfast.from_url(site.url, namespace=site.namespace) as other:
        other.queue(QUEUE).repartition(3)
    hf.enqueue_many([plain.call(n) for n in range(1, 601)])
    assert sum(sizes(hf)) == 601
    assert min(sizes(hf)) > 0
    hf.queue(QUEUE).repartition(1)
    assert (hf.queue(QUEUE).stats()).partitions == 1
    drain(hf)
    assert sorted(map(int, map(str, ran))) == list(range(601))


def test_tasks_with_a_partition_key_are_in_order_in_one_partition(site: Site, hf: Holdfast) -> None:
    hf.queue(QUEUE, partitions=8)
    for n in range(40):
        hf.enqueue(plain.call(n).options(partition_key=f"user {n % 4}"))
    found = [[n for [n] in each] for each in where(site, 8)]
    assert all(numbers == sorted(numbers) for numbers in found)
    places = {n: index for index, numbers in enumerate(found) for n in numbers}
    assert len(places) == 40
    assert all(places[n] == places[n % 4] for n in range(40))


def test_unique_tasks_stay_unique_when_the_number_changes(hf: Holdfast) -> None:
    first = [hf.enqueue(unique.call(user)) for user in range(20)]
    for number in (8, 3, 1, 5):
        hf.queue(QUEUE).repartition(number)
        again = [hf.enqueue(unique.call(user)) for user in range(20)]
        assert again == first
        assert {handle.enqueued for handle in again} == {"existing"}
        assert hf.enqueue_many([unique.call(user) for user in range(20)]) == first
    assert sum(sizes(hf)) == 20
    drain(hf)
    assert sorted(map(str, ran)) == sorted(str(("unique", user)) for user in range(20))
    # Free keys go where the layout says now.
    hf.enqueue_many([unique.call(user) for user in range(200)])
    found = sizes(hf)
    assert sum(found) == 200
    assert min(found[:5]) > 0


def test_tasks_of_a_limit_key_follow_those_that_wait(site: Site, hf: Holdfast) -> None:
    hf.enqueue_many([limited.call(user, n) for n in range(3) for user in range(10)])
    hf.queue(QUEUE).repartition(6)
    hf.enqueue_many([limited.call(user, n) for n in range(3, 6) for user in range(20)])
    found = where(site, 6)
    for user in range(20):
        holders = [index for index, each in enumerate(found) if user in [who for who, _ in each]]
        assert holders == [0] if user < 10 else len(holders) == 1
    assert any(found[1:])
    assert sum(sizes(hf)) == 90
    drain(hf)
    for user in range(20):
        numbers = [n for u, n in ran if u == user]  # type: ignore[misc]
        assert numbers == sorted(numbers)
    assert len(ran) == 90
    hf.enqueue_many([limited.call(user, 9) for user in range(60)])
    assert min(sizes(hf)) > 0


def test_a_repeated_operation_is_one_after_a_change(hf: Holdfast) -> None:
    calls = [plain.call(n) for n in range(700)] + [unique.call(n) for n in range(50)]
    one = hf.enqueue(plain.call(1000), op_id="one")
    many = hf.enqueue_many(calls, op_id="many")
    for number in (4, 2, 7):
        hf.queue(QUEUE).repartition(number)
        assert hf.enqueue(plain.call(1000), op_id="one") == one
        assert hf.enqueue_many(calls, op_id="many") == many
        later = hf.enqueue_many(calls[:300], op_id=f"many {number}")
        assert hf.enqueue_many(calls[:300], op_id=f"many {number}") == later
    assert sum(sizes(hf)) == 751 + 3 * 300
    assert hf.enqueue_many(calls[:300], op_id="many 2") != later
    assert hf.enqueue_many(calls, op_id="many") == many
    assert sum(sizes(hf)) == 751 + 3 * 300
    drain(hf)
    assert hf.enqueue(plain.call(1000), op_id="one") == one
    assert sum(sizes(hf)) == 0


def test_an_id_is_known_after_a_change(hf: Holdfast) -> None:
    calls = [plain.call(n).options(task_id=f"id-{n}") for n in range(30)]
    handles = hf.enqueue_many(calls)
    hf.queue(QUEUE).repartition(5)
    assert [handle.enqueued for handle in hf.enqueue_many(calls)] == ["existing"] * 30
    assert (hf.queue(QUEUE).handle("id-7").status()).state == "queued"
    assert hf.queue(QUEUE).handle("id-7").cancel()
    assert (handles[7].status()).state == "cancelled"
    assert (hf.queue(QUEUE).handle("nobody").status()).state == "unknown"


def test_settings_hold_for_all_partitions_and_for_new_ones(hf: Holdfast) -> None:
    queue = hf.queue(QUEUE)
    queue.redefine(capacity=100)
    queue.limit(concurrency=8, rate=Limit(40, per=1.0))
    queue.pause()
    queue.repartition(4)
    parts = queue.partitions()
    assert [each.capacity for each in parts.values()] == [25] * 4
    assert [each.concurrency for each in parts.values()] == [2] * 4
    assert [each.rate for each in parts.values()] == [(10, 1.0)] * 4
    assert all(each.paused for each in parts.values())
    stats = queue.stats()
    assert (stats.capacity, stats.concurrency, stats.rate) == (100, 8, (40, 1.0))
    queue.repartition(6)
    assert [each.capacity for each in (queue.partitions()).values()] == [17] * 4 + [16] * 2
    assert (queue.stats()).capacity == 100
    assert all(each.paused for each in (queue.partitions()).values())
    queue.redefine(capacity=12)
    queue.limit(concurrency=12)
    assert [each.capacity for each in (queue.partitions()).values()] == [2] * 6
    assert (queue.stats()).rate == (40, 1.0)
    with pytest.raises(QueueAtCapacity):
        hf.enqueue_many([plain.call(n) for n in range(13)])
    queue.resume()
    assert not any(each.paused for each in (queue.partitions()).values())
    with pytest.raises(ValueError, match="the capacity of queue 'spread' is 12"):
        queue.repartition(13)
    with pytest.raises(ValueError, match="the concurrency of queue 'spread' is 5"):
        queue.limit(concurrency=5)
    queue.repartition(1)
    assert (queue.stats()).capacity == 12


def test_settings_of_a_queue_that_is_not_divided_yet_may_change(hf: Holdfast) -> None:
    queue = hf.queue(QUEUE)
    for number in (6, 7):
        queue.redefine(capacity=number)
        queue.limit(concurrency=number)
        queue.repartition(1)
        stats = queue.stats()
        assert (stats.capacity, stats.concurrency) == (number, number)
    queue.redefine(capacity=None)
    queue.limit(concurrency=9)
    queue.repartition(3)
    stats = queue.stats()
    assert (stats.capacity, stats.concurrency) == (None, 9)


def test_a_capacity_in_code_is_that_of_the_whole(site: Site, hf: Holdfast) -> None:
    hf.queue(QUEUE, capacity=40, partitions=4)
    hf.enqueue(plain.call(1))
    assert (hf.queue(QUEUE).stats()).capacity == 40
    with Holdfast.from_url(site.url, namespace=site.namespace) as other:
        other.queue(QUEUE, capacity=41, on_conflict="error")
        with pytest.raises(DefinitionConflict, match="capacity"):
            other.enqueue(plain.call(1))
        other.queue(QUEUE, capacity=44, partitions=8, on_conflict="error")
        with pytest.raises(DefinitionConflict, match="number of partitions"):
            other.enqueue(plain.call(1))
        other.queue(QUEUE, capacity=44, partitions=8, on_conflict="update")
        other.enqueue(plain.call(1))
    stats = hf.queue(QUEUE).stats()
    assert (stats.capacity, stats.partitions, stats.ready) == (44, 8, 2)


def test_partitions_that_are_not_needed_are_served_until_they_are_empty(
    site: Site, hf: Holdfast
) -> None:
    queue = hf.queue(QUEUE, partitions=5)
    hf.enqueue_many([plain.call(n) for n in range(500)])
    queue.repartition(2)
    before = sizes(hf)
    assert len(before) == 5
    hf.enqueue_many([plain.call(n) for n in range(500, 1000)])
    assert (sizes(hf))[2:] == before[2:]
    assert queue.purge() == 1000
    queue.repartition(2)
    assert len(queue.partitions()) == 2
    hf.enqueue_many([plain.call(n) for n in range(500)])
    assert sum(sizes(hf)) == 500


def test_dead_tasks_of_all_partitions_are_replayed_and_purged(hf: Holdfast) -> None:
    queue = hf.queue(QUEUE, partitions=3)
    calls = [plain.call(n).options(expires=0.001) for n in range(300)]
    hf.enqueue_many(calls)
    drain(hf)
    dead = queue.dead(limit=1000)
    assert len(dead) == 300
    assert queue.replay([task.task_id for task in dead[:10]]) == 10
    assert queue.replay(op_id="all") == 290
    assert queue.replay(op_id="all") == 290
    assert queue.purge(op_id="away") == 300
    assert queue.purge(op_id="away") == 300
    assert (queue.stats()).ready == 0


def test_keys_that_belong_to_several_partitions_are_refused(hf: Holdfast) -> None:
    hf.queue(QUEUE, partitions=3)
    hf.enqueue(one_within_the_other.call(1, 2))
    with pytest.raises(ValueError, match="different keys for unique and for its limit"):
        hf.enqueue(two_keys.call(1, 2))
    with pytest.raises(ValueError, match="different keys for unique and for its limit"):
        hf.enqueue_many([plain.call(1), two_keys.call(1, 2)])
    with pytest.raises(ValueError, match="give no partition_key"):
        hf.enqueue(unique.call(1).options(partition_key="x"))
    with pytest.raises(ValueError, match="schedules of a queue with partitions cannot"):
        hf.schedule("each", unique.call(1), Every(60.0))
    hf.schedule("each", plain.call(1), Every(60.0))
    with pytest.raises(ValueError, match="is a partition of queue 'spread'"):
        hf.enqueue(plain.call(1).options(queue=f"{QUEUE}/1"))
    with pytest.raises(ValueError, match="is a partition of queue 'spread'"):
        hf.queue(f"{QUEUE}/1").repartition(2)
    assert sum(sizes(hf)) == 1


def test_a_queue_with_the_name_of_a_partition_is_refused(hf: Holdfast) -> None:
    hf.enqueue(plain.call(1).options(queue=f"{QUEUE}/2"))
    with pytest.raises(DefinitionConflict, match="the name 'spread/2'"):
        hf.queue(QUEUE).repartition(3)
    hf.enqueue(plain.call(1))
    hf.schedule("each", unique.call(1), Every(60.0))
    with pytest.raises(ValueError, match="schedules of a queue with partitions cannot"):
        hf.queue(QUEUE).repartition(2)
    assert (hf.queue(QUEUE).stats()).partitions == 1


def test_a_layout_that_the_server_has_lost_is_healed(site: Site, hf: Holdfast) -> None:
    queue, unit = hf.queue(QUEUE), Namespace.of(site.namespace).unit(keys.KIND, QUEUE)
    queue.repartition(3)
    hf.enqueue_many([plain.call(n) for n in range(300)])
    before = site.client.hget(keys.settings(unit), "layout")
    queue.repartition(4)
    hf.enqueue_many([plain.call(n) for n in range(300)])
    site.client.hset(keys.settings(unit), "layout", before)
    handles = [hf.enqueue(plain.call(n)) for n in range(20)]
    assert sum(sizes(hf)) == 620 - len(hf.queue(f"{QUEUE}/3").tasks(limit=1000))
    queue.repartition(4)
    assert sum(sizes(hf)) == 620
    drain(hf)
    assert handles[3].result(timeout=0) == 6


def test_too_many_changes_are_refused(hf: Holdfast) -> None:
    queue = hf.queue(QUEUE)
    for number in (2, 3, 2, 3, 2, 3, 2, 3):
        queue.repartition(number)
    queue.repartition(3)
    with pytest.raises(DefinitionConflict, match="after too many changes"):
        queue.repartition(2)
    hf.enqueue_many([plain.call(n) for n in range(300)])
    assert sum(sizes(hf)) == 300
