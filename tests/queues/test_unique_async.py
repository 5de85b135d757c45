"""Unique tasks: which call stores a task, which one changes it, and when the key is free again."""

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    Call,
    Every,
    QueueAtCapacity,
    Task,
    TaskExists,
    TaskRegistry,
    Unique,
)
from holdfast.core.concurrency._async.primitives import sleep
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from holdfast.testing._async.task_bench import AsyncTaskBench
from queues.schedule.scheduled_tasks import running_async
from queues.unique_tasks import (
    QUEUE,
    by_all_arguments,
    by_function,
    ends_as_requested,
    for_long,
    one_at_all,
    postponed,
    ran,
    refused,
    replaced,
    tasks,
    until_end,
    until_start,
)


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    ran.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def drain(hf: AsyncHoldfast, registry: TaskRegistry = tasks) -> None:
    """Run everything that is due, one task at a time; delayed tasks stay."""
    await AsyncTaskBench(hf).drain(registry, queues=[QUEUE])


def unit_of(site: Site) -> Unit:
    return Namespace.of(site.namespace).unit(keys.KIND, QUEUE)


def held(site: Site) -> int:
    """Return how many keys are held by tasks that have not ended."""
    return int(site.client.hlen(keys.unique(unit_of(site))))


async def total(hf: AsyncHoldfast) -> int:
    """Return how many tasks have not ended."""
    stats = await hf.queue(QUEUE).stats()
    return stats.ready + stats.delayed + stats.running


async def start_in(hf: AsyncHoldfast, task_id: str) -> float:
    """Return the seconds until a task may start, roughly."""
    due_at = (await hf.queue(QUEUE).handle(task_id).status()).due_at
    assert due_at is not None
    return due_at.timestamp() - time.time()


async def test_a_second_call_with_the_key_adds_nothing(hf: AsyncHoldfast, site: Site) -> None:
    first = await hf.enqueue(until_end.call(7, "a"))
    second = await hf.enqueue(until_end.call(7, "b"))
    other = await hf.enqueue(until_end.call(8))
    assert (first.enqueued, second.enqueued, other.enqueued) == ("new", "existing", "new")
    assert second == first
    assert (await first.status()).unique_key == (await second.status()).unique_key != ""
    await drain(hf)
    assert ran == [(7, "a"), (8, "")]
    assert await second.result() == "a"
    assert held(site) == 0
    assert (await hf.enqueue(until_end.call(7))).enqueued == "new"


async def keys_of(hf: AsyncHoldfast, *calls: Call[Any]) -> list[str]:
    """Return the key of each call, with a task id of its own."""
    found = []
    for call in calls:
        handle = await hf.enqueue(call)
        found.append((await handle.status()).unique_key)
        assert await handle.cancel()
    return found


async def test_equal_arguments_are_equal_keys_however_they_are_given(hf: AsyncHoldfast) -> None:
    call = by_all_arguments.call
    same = (call(1), call(a=1), call(1, "b"), call(b="b", a=1))
    assert len(set(await keys_of(hf, *same))) == 1
    more = (call(1, x={"p": 1, "q": [2]}), call(1, "b", x={"q": [2], "p": 1}))
    assert len(set(await keys_of(hf, *more))) == 1
    others = (call(1), call(2), call(1, "c"), call(1, "b", 3), call(1, x=3), call(1, y=3))
    assert len(set(await keys_of(hf, *others, *more))) == 7


async def test_the_key_may_be_computed_or_the_same_for_all(hf: AsyncHoldfast) -> None:
    one, two, three = await keys_of(hf, *(by_function.call(n) for n in (1, 11, 12)))
    assert one == two != three
    one, two = await keys_of(hf, one_at_all.call(1), one_at_all.call(2))
    assert one == two


async def test_tasks_and_queues_have_keys_of_their_own(hf: AsyncHoldfast) -> None:
    calls: list[Call[Any]] = [until_end.call(7), until_start.call(7)]
    calls += [until_end.call(7).options(queue="elsewhere")]
    assert [each.enqueued for each in await hf.enqueue_many(calls)] == ["new"] * 3


async def test_a_call_has_its_own_unique_or_none(hf: AsyncHoldfast) -> None:
    first = await hf.enqueue(until_end.call(7))
    without = await hf.enqueue(until_end.call(7).options(unique=False))
    assert without.enqueued == "new"
    call = until_end.call(7, "b").options(unique=Unique(key="user", when="replace"))
    assert (await hf.enqueue(call)).enqueued == "replaced"
    assert (await first.status()).args == (7, "b")
    unknown: Call[Any] = Call("until_end", QUEUE, "medium", (), {"user": 7})
    again = await hf.enqueue(unknown.options(unique=Unique(key="user")))
    assert again == first


async def enqueues_itself(hf: AsyncHoldfast, unique: Unique) -> list[Any]:
    """Return what a task gets that enqueues a task with its own key while it runs, and the ids."""
    registry, found = TaskRegistry(), []

    @registry.task(queue=QUEUE)
    async def again(text: str) -> None:
        if text == "a":  # "b" may begin before this enqueue has returned
            handle = await hf.enqueue(again.call("b").options(unique=unique))
            found.append((handle.enqueued, handle.task_id))
        ran.append(text)

    handle = await hf.enqueue(again.call("a").options(unique=unique, task_id="first"))
    assert handle.enqueued == "new"
    await drain(hf, registry)
    return found[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("when", ["skip", "replace"])
async def test_a_running_task_holds_its_key_until_its_end(
    hf: AsyncHoldfast, site: Site, when: Any
) -> None:
    """Nothing changes a task that runs: the later call is skipped."""
    assert await enqueues_itself(hf, Unique(key=(), when=when)) == ("existing", "first")
    assert ran == ["a"]
    assert held(site) == 0


async def test_a_task_that_has_started_may_have_let_go_of_its_key(
    hf: AsyncHoldfast, site: Site
) -> None:
    enqueued, _ = await enqueues_itself(hf, Unique(key=(), until="start"))
    assert enqueued == "new"
    assert ran == ["a", "b"]
    assert held(site) == 0


async def test_a_key_may_be_kept_after_the_end(hf: AsyncHoldfast, site: Site) -> None:
    first = await hf.enqueue(for_long.call(7, "a"))
    await drain(hf)
    assert held(site) == 0
    later = await hf.enqueue(for_long.call(7, "b"))
    assert (later, later.enqueued) == (first, "existing")
    assert await later.result() == "a"
    kept = keys.kept(unit_of(site))
    assert 590 <= site.client.ttl(kept) <= 600
    with pytest.raises(TaskExists, match=first.task_id):
        await hf.enqueue(for_long.call(7).options(unique=Unique(key="user", when="raise")))
    for when in ("replace", "postpone"):  # there is nothing left to change
        unique = Unique(key="user", when=when)  # type: ignore[arg-type]
        call = for_long.call(7).options(unique=unique, delay=1.0)
        assert (await hf.enqueue(call)).enqueued == "existing"


async def test_a_kept_key_ends_by_itself(hf: AsyncHoldfast, site: Site) -> None:
    shortly = Unique(key="user", until=0.2)
    for user in range(20):
        await hf.enqueue(until_end.call(user).options(unique=shortly))
    await drain(hf)
    kept = keys.kept(unit_of(site))
    await eventually_async(lambda: not site.client.exists(kept))
    assert (await hf.enqueue(until_end.call(7))).enqueued == "new"


async def test_kept_keys_that_have_ended_are_removed_while_others_are_kept(
    hf: AsyncHoldfast, site: Site
) -> None:
    kept = keys.kept(unit_of(site))
    site.client.hset(kept, mapping={f"old-{n}": f"{n}:gone" for n in range(30)})
    for user in range(30):
        await hf.enqueue(for_long.call(user))
    await drain(hf)
    assert site.client.hlen(kept) < 40
    assert sum(not key.startswith(b"old") for key in site.client.hkeys(kept)) == 30


@pytest.mark.parametrize("how", ["done", "fail", "give up", "snooze"])
async def test_each_end_releases_the_key(hf: AsyncHoldfast, site: Site, how: str) -> None:
    """A failed or snoozed task has not ended; its second run ends."""
    handle = await hf.enqueue(ends_as_requested.call(7, how))
    await drain(hf)
    if how in ("fail", "snooze"):
        assert (await hf.enqueue(ends_as_requested.call(7, how))) == handle
        for due in keys.due(unit_of(site)):
            site.client.zadd(due, {handle.task_id: 1}, xx=True)
        await drain(hf)
    assert (await handle.status()).state == ("done" if how in ("done", "snooze") else "dead")
    assert held(site) == 0
    assert (await hf.enqueue(ends_as_requested.call(7, how))).enqueued == "new"


async def test_what_is_removed_or_expires_releases_its_key(hf: AsyncHoldfast, site: Site) -> None:
    queue = hf.queue(QUEUE)
    cancelled = await hf.enqueue(for_long.call(1))
    assert await cancelled.cancel()
    assert held(site) == 0
    await hf.enqueue_many([for_long.call(1), for_long.call(2).options(delay=600.0)])
    assert held(site) == 2
    assert await queue.purge() == 2
    assert held(site) == 0
    expired = await hf.enqueue(for_long.call(1).options(expires=0.001))
    await sleep(0.01)
    await drain(hf)
    assert (await expired.status()).state == "dead"
    assert held(site) == 0
    assert (await hf.enqueue(for_long.call(1))).enqueued == "new"
    assert not site.client.exists(keys.kept(unit_of(site)))


async def test_a_replayed_task_takes_its_key_if_it_is_free(hf: AsyncHoldfast, site: Site) -> None:
    dead = [await hf.enqueue(ends_as_requested.call(user, "give up")) for user in (1, 2)]
    await drain(hf)
    other = await hf.enqueue(ends_as_requested.call(2, "done").options(delay=600.0))
    assert await hf.queue(QUEUE).replay() == 2
    assert await hf.enqueue(ends_as_requested.call(1, "done")) == dead[0]
    assert await hf.enqueue(ends_as_requested.call(2, "done")) == other
    await drain(hf)  # both are dead again; the second one never held the key
    assert held(site) == 1
    assert await hf.enqueue(ends_as_requested.call(2, "done")) == other


async def test_a_waiting_task_gets_the_arguments_of_the_last_call(
    hf: AsyncHoldfast, site: Site
) -> None:
    task_id = 'a"b\\c/ü'
    first = await hf.enqueue(replaced.call(7, "a").options(task_id=task_id, expires=0.001))
    behind = await hf.enqueue(until_end.call(1, "behind"))
    call = replaced.call(7, "b").options(headers={"from": "b"}, delay=600.0)
    second = await hf.enqueue(call)
    assert (second, second.enqueued) == (first, "replaced")
    status = await first.status()
    assert (status.args, status.headers, status.due_at) == ((7, "b"), {"from": "b"}, None)
    await drain(hf)  # at its place, and it does not expire
    assert ran == [(7, "b"), (1, "behind")]
    assert (await behind.status()).state == "done"
    assert held(site) == 0


async def test_a_replaced_task_has_the_priority_of_the_last_call(hf: AsyncHoldfast) -> None:
    await hf.enqueue(until_end.call(1, "before"))
    for text, priority in (("a", "low"), ("b", "medium"), ("c", "high")):
        handle = await hf.enqueue(replaced.call(7, text).options(priority=priority))  # type: ignore[arg-type]
        assert (await handle.status()).priority == priority
    assert (await hf.queue(QUEUE).stats()).ready == 2
    await drain(hf)
    assert ran == [(7, "c"), (1, "before")]


async def test_a_task_that_waits_for_its_retry_gets_other_arguments(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(ends_as_requested.call(7, "fail"))
    await drain(hf)
    unique = Unique(key="user", when="replace")
    await hf.enqueue(ends_as_requested.call(7, "done").options(unique=unique))
    status = await handle.status()
    assert (status.args, status.attempts, status.state) == ((7, "done"), 1, "delayed")
    assert await start_in(hf, handle.task_id) > 800


async def test_each_call_postpones_the_start_up_to_a_limit(hf: AsyncHoldfast) -> None:
    first = await hf.enqueue(postponed.call(7, "a").options(delay=300.0))
    second = await hf.enqueue(postponed.call(7, "b").options(delay=600.0))
    assert (second, second.enqueued) == (first, "postponed")
    assert 590 < await start_in(hf, first.task_id) < 605
    await hf.enqueue(postponed.call(7, "c").options(delay=30.0))  # never earlier
    assert 590 < await start_in(hf, first.task_id) < 605
    await hf.enqueue(postponed.call(7, "d").options(at=time.time() + 5000))
    assert 990 < await start_in(hf, first.task_id) < 1005
    assert (await first.status()).args == (7, "d")
    assert await total(hf) == 1


async def test_a_task_that_is_ready_is_postponed_too(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(until_end.call(7, "a"))
    unique = Unique(key="user", when="postpone")
    await hf.enqueue(until_end.call(7, "b").options(unique=unique, delay=0.3))
    stats = await hf.queue(QUEUE).stats()
    assert (stats.ready, stats.delayed) == (0, 1)
    await hf.enqueue(until_end.call(1, "other"))
    await hf.worker(tasks).run(until_idle=True)
    assert ran == [(1, "other"), (7, "b")]
    assert (await handle.status()).state == "done"


async def test_the_caller_may_want_an_error(hf: AsyncHoldfast) -> None:
    first = await hf.enqueue(refused.call(7))
    with pytest.raises(TaskExists, match=first.task_id) as caught:
        await hf.enqueue(refused.call(7))
    assert (caught.value.task_id, caught.value.queue) == (first.task_id, QUEUE)
    with pytest.raises(TaskExists) as caught:  # all of them, or none
        await hf.enqueue_many([until_end.call(1), refused.call(8), refused.call(7)])
    assert caught.value.task_id == first.task_id
    assert await total(hf) == 1
    with pytest.raises(TaskExists):  # two in one call
        await hf.enqueue_many([refused.call(8), refused.call(8)])
    assert await total(hf) == 1


@pytest.mark.parametrize(
    ("task", "delay", "enqueued", "text"),
    [
        (until_end, None, "existing", "a"),
        (until_start, 10.0, "existing", "a"),
        (replaced, None, "replaced", "c"),
        (replaced, 10.0, "replaced", "c"),
        (postponed, 10.0, "postponed", "c"),
    ],
)
async def test_equal_keys_in_one_batch(
    hf: AsyncHoldfast, task: Task[..., Any], delay: float | None, enqueued: str, text: str
) -> None:
    calls = [task.call(7, each).options(delay=delay) for each in "abc"]
    calls.insert(1, until_end.call(1))
    handles = await hf.enqueue_many(calls)
    assert [handle.enqueued for handle in handles] == ["new", "new", enqueued, enqueued]
    assert handles[0] == handles[2] == handles[3]
    assert (await handles[0].status()).args == (7, text)
    assert await total(hf) == 2


async def test_batches_of_several_steps_and_queues(hf: AsyncHoldfast) -> None:
    calls = [until_end.call(n % 400) for n in range(1201)]
    calls[3:3] = [until_end.call(n % 3).options(queue="elsewhere") for n in range(6)]
    handles = await hf.enqueue_many(calls)
    here = [handle for handle in handles if handle.queue == QUEUE]
    assert await total(hf) == len({handle.task_id for handle in here}) == 400
    assert [handle.task_id for handle in here[400:800]] == [one.task_id for one in here[:400]]
    assert len({handle.task_id for handle in handles[3:9]}) == 3


async def test_a_repeated_operation_has_the_first_answer(hf: AsyncHoldfast) -> None:
    first = await hf.enqueue(replaced.call(7, "a"))
    op_ids = [f"hf:repeated0000.{n}" for n in (1, 2, 3)]
    for _ in range(2):
        second = await hf.enqueue(replaced.call(7, "b"), op_id=op_ids[0])
        assert (second, second.enqueued) == (first, "replaced")
    await hf.enqueue(replaced.call(7, "c"))
    assert (await hf.enqueue(replaced.call(7, "b"), op_id=op_ids[0])) == first
    assert (await first.status()).args == (7, "c")  # applied once
    await drain(hf)
    assert (await hf.enqueue(replaced.call(7, "b"), op_id=op_ids[0])) == first
    assert await total(hf) == 0
    # An error stored nothing, so the operation is tried again.
    blocking = await hf.enqueue(refused.call(7))
    for _ in range(2):
        with pytest.raises(TaskExists):
            await hf.enqueue(refused.call(7), op_id=op_ids[1])
    await blocking.cancel()
    assert (await hf.enqueue(refused.call(7), op_id=op_ids[1])).enqueued == "new"


async def test_a_full_queue_needs_no_room_for_a_key_that_is_held(hf: AsyncHoldfast) -> None:
    hf.queue(QUEUE, capacity=2)
    await hf.enqueue_many([replaced.call(7), until_end.call(7)])
    assert (await hf.enqueue(until_end.call(7))).enqueued == "existing"
    assert (await hf.enqueue(replaced.call(7, "b"))).enqueued == "replaced"
    with pytest.raises(QueueAtCapacity):
        await hf.enqueue(until_end.call(8))
    with pytest.raises(QueueAtCapacity):
        await hf.enqueue_many([replaced.call(7, "c"), until_end.call(8)])
    assert await hf.enqueue_many([until_end.call(7)] * 5)
    await drain(hf)
    assert ran == [(7, "b"), (7, "")]


async def test_a_task_id_that_is_taken_changes_nothing(hf: AsyncHoldfast, site: Site) -> None:
    plain = await hf.enqueue(until_end.call(1).options(task_id="mine", unique=False))
    again = await hf.enqueue(until_end.call(7).options(task_id="mine"))
    assert (again, again.enqueued) == (plain, "existing")
    assert held(site) == 0


async def test_keys_that_were_left_over_block_nothing_and_go(hf: AsyncHoldfast, site: Site) -> None:
    """Another program removed the tasks, or an older version settled them."""
    unique, bodies = keys.unique(unit_of(site)), keys.bodies(unit_of(site))
    gone = await hf.enqueue_many([until_end.call(user) for user in range(30)])
    for handle in gone:
        await handle.cancel()
    left = {f"key{user}": f"0:{handle.task_id}" for user, handle in enumerate(gone)}
    site.client.hset(unique, mapping=left)
    first = await hf.enqueue(until_end.call(7).options(unique=False, task_id="mine"))
    key = (await keys_of(hf, until_end.call(7)))[0]
    site.client.hset(unique, key, "0:mine")  # this task does not name the key
    taken = await hf.enqueue(until_end.call(7))
    assert taken.enqueued == "new"
    assert taken != first
    for user in range(100, 160):
        await hf.enqueue(until_end.call(user))
    assert site.client.hlen(unique) < site.client.hlen(bodies) + 5


async def test_an_occurrence_of_a_schedule_respects_the_key(hf: AsyncHoldfast, site: Site) -> None:
    schedule = await hf.schedule("often", replaced.call(7, "often"), Every(seconds=3600))
    waiting = await hf.enqueue(replaced.call(7, "a").options(delay=600.0))
    await hf.schedule("skips", until_end.call(8, "skips"), Every(seconds=3600))
    other = await hf.enqueue(until_end.call(8).options(delay=600.0))
    times, now_ms = keys.schedule_times(unit_of(site)), time.time() * 1000
    for name in (b"often", b"skips"):
        site.client.zadd(times, {name: site.client.zscore(times, name) - 3_600_000})
    async with running_async(hf.worker(tasks)):
        await eventually_async(
            lambda: all(site.client.zscore(times, name) > now_ms for name in (b"often", b"skips"))
        )
    assert ran == []
    assert (await waiting.status()).args == (7, "often")
    status = await schedule.status()
    assert (status.fired, status.skipped) == (1, 0)
    status = await hf.schedule_handle("skips").status()
    assert (status.fired, status.skipped) == (0, 1)
    assert (await other.status()).args == (8,)
    assert (await schedule.trigger()) == waiting
