# Generated from test_unique_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Unique tasks: which call stores a task, which one changes it, and when the key is free again."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import (
    Call,
    Every,
    Holdfast,
    QueueAtCapacity,
    Task,
    TaskExists,
    TaskRegistry,
    Unique,
)
from holdfast.core.concurrency._sync.primitives import sleep
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from holdfast.testing._sync.task_bench import TaskBench
from queues.schedule.scheduled_tasks import running
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
def hf(site: Site) -> Iterator[Holdfast]:
    ran.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def drain(hf: Holdfast, registry: TaskRegistry = tasks) -> None:
    """Run everything that is due, one task at a time; delayed tasks stay."""
    TaskBench(hf).drain(registry, queues=[QUEUE])


def unit_of(site: Site) -> Unit:
    return Namespace.of(site.namespace).unit(keys.KIND, QUEUE)


def held(site: Site) -> int:
    """Return how many keys are held by tasks that have not ended."""
    return int(site.client.hlen(keys.unique(unit_of(site))))


def total(hf: Holdfast) -> int:
    """Return how many tasks have not ended."""
    stats = hf.queue(QUEUE).stats()
    return stats.ready + stats.delayed + stats.running


def start_in(hf: Holdfast, task_id: str) -> float:
    """Return the seconds until a task may start, roughly."""
    due_at = (hf.queue(QUEUE).handle(task_id).status()).due_at
    assert due_at is not None
    return due_at.timestamp() - time.time()


def test_a_second_call_with_the_key_adds_nothing(hf: Holdfast, site: Site) -> None:
    first = hf.enqueue(until_end.call(7, "a"))
    second = hf.enqueue(until_end.call(7, "b"))
    other = hf.enqueue(until_end.call(8))
    assert (first.enqueued, second.enqueued, other.enqueued) == ("new", "existing", "new")
    assert second == first
    assert (first.status()).unique_key == (second.status()).unique_key != ""
    drain(hf)
    assert ran == [(7, "a"), (8, "")]
    assert second.result() == "a"
    assert held(site) == 0
    assert (hf.enqueue(until_end.call(7))).enqueued == "new"


def keys_of(hf: Holdfast, *calls: Call[Any]) -> list[str]:
    """Return the key of each call, with a task id of its own."""
    found = []
    for call in calls:
        handle = hf.enqueue(call)
        found.append((handle.status()).unique_key)
        assert handle.cancel()
    return found


def test_equal_arguments_are_equal_keys_however_they_are_given(hf: Holdfast) -> None:
    call = by_all_arguments.call
    same = (call(1), call(a=1), call(1, "b"), call(b="b", a=1))
    assert len(set(keys_of(hf, *same))) == 1
    more = (call(1, x={"p": 1, "q": [2]}), call(1, "b", x={"q": [2], "p": 1}))
    assert len(set(keys_of(hf, *more))) == 1
    others = (call(1), call(2), call(1, "c"), call(1, "b", 3), call(1, x=3), call(1, y=3))
    assert len(set(keys_of(hf, *others, *more))) == 7


def test_the_key_may_be_computed_or_the_same_for_all(hf: Holdfast) -> None:
    one, two, three = keys_of(hf, *(by_function.call(n) for n in (1, 11, 12)))
    assert one == two != three
    one, two = keys_of(hf, one_at_all.call(1), one_at_all.call(2))
    assert one == two


def test_tasks_and_queues_have_keys_of_their_own(hf: Holdfast) -> None:
    calls: list[Call[Any]] = [until_end.call(7), until_start.call(7)]
    calls += [until_end.call(7).options(queue="elsewhere")]
    assert [each.enqueued for each in hf.enqueue_many(calls)] == ["new"] * 3


def test_a_call_has_its_own_unique_or_none(hf: Holdfast) -> None:
    first = hf.enqueue(until_end.call(7))
    without = hf.enqueue(until_end.call(7).options(unique=False))
    assert without.enqueued == "new"
    call = until_end.call(7, "b").options(unique=Unique(key="user", when="replace"))
    assert (hf.enqueue(call)).enqueued == "replaced"
    assert (first.status()).args == (7, "b")
    unknown: Call[Any] = Call("until_end", QUEUE, "medium", (), {"user": 7})
    again = hf.enqueue(unknown.options(unique=Unique(key="user")))
    assert again == first


def enqueues_itself(hf: Holdfast, unique: Unique) -> list[Any]:
    """Return what a task gets that enqueues a task with its own key while it runs, and the ids."""
    registry, found = TaskRegistry(), []

    @registry.task(queue=QUEUE)
    def again(text: str) -> None:
        if text == "a":  # "b" may begin before this enqueue has returned
            handle = hf.enqueue(again.call("b").options(unique=unique))
            found.append((handle.enqueued, handle.task_id))
        ran.append(text)

    handle = hf.enqueue(again.call("a").options(unique=unique, task_id="first"))
    assert handle.enqueued == "new"
    drain(hf, registry)
    return found[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("when", ["skip", "replace"])
def test_a_running_task_holds_its_key_until_its_end(hf: Holdfast, site: Site, when: Any) -> None:
    """Nothing changes a task that runs: the later call is skipped."""
    assert enqueues_itself(hf, Unique(key=(), when=when)) == ("existing", "first")
    assert ran == ["a"]
    assert held(site) == 0


def test_a_task_that_has_started_may_have_let_go_of_its_key(hf: Holdfast, site: Site) -> None:
    enqueued, _ = enqueues_itself(hf, Unique(key=(), until="start"))
    assert enqueued == "new"
    assert ran == ["a", "b"]
    assert held(site) == 0


def test_a_key_may_be_kept_after_the_end(hf: Holdfast, site: Site) -> None:
    first = hf.enqueue(for_long.call(7, "a"))
    drain(hf)
    assert held(site) == 0
    later = hf.enqueue(for_long.call(7, "b"))
    assert (later, later.enqueued) == (first, "existing")
    assert later.result() == "a"
    kept = keys.kept(unit_of(site))
    assert 590 <= site.client.ttl(kept) <= 600
    with pytest.raises(TaskExists, match=first.task_id):
        hf.enqueue(for_long.call(7).options(unique=Unique(key="user", when="raise")))
    for when in ("replace", "postpone"):  # there is nothing left to change
        unique = Unique(key="user", when=when)  # type: ignore[arg-type]
        call = for_long.call(7).options(unique=unique, delay=1.0)
        assert (hf.enqueue(call)).enqueued == "existing"


def test_a_kept_key_ends_by_itself(hf: Holdfast, site: Site) -> None:
    shortly = Unique(key="user", until=0.2)
    for user in range(20):
        hf.enqueue(until_end.call(user).options(unique=shortly))
    drain(hf)
    kept = keys.kept(unit_of(site))
    eventually(lambda: not site.client.exists(kept))
    assert (hf.enqueue(until_end.call(7))).enqueued == "new"


def test_kept_keys_that_have_ended_are_removed_while_others_are_kept(
    hf: Holdfast, site: Site
) -> None:
    kept = keys.kept(unit_of(site))
    site.client.hset(kept, mapping={f"old-{n}": f"{n}:gone" for n in range(30)})
    for user in range(30):
        hf.enqueue(for_long.call(user))
    drain(hf)
    assert site.client.hlen(kept) < 40
    assert sum(not key.startswith(b"old") for key in site.client.hkeys(kept)) == 30


@pytest.mark.parametrize("how", ["done", "fail", "give up", "snooze"])
def test_each_end_releases_the_key(hf: Holdfast, site: Site, how: str) -> None:
    """A failed or snoozed task has not ended; its second run ends."""
    handle = hf.enqueue(ends_as_requested.call(7, how))
    drain(hf)
    if how in ("fail", "snooze"):
        assert (hf.enqueue(ends_as_requested.call(7, how))) == handle
        for due in keys.due(unit_of(site)):
            site.client.zadd(due, {handle.task_id: 1}, xx=True)
        drain(hf)
    assert (handle.status()).state == ("done" if how in ("done", "snooze") else "dead")
    assert held(site) == 0
    assert (hf.enqueue(ends_as_requested.call(7, how))).enqueued == "new"


def test_what_is_removed_or_expires_releases_its_key(hf: Holdfast, site: Site) -> None:
    queue = hf.queue(QUEUE)
    cancelled = hf.enqueue(for_long.call(1))
    assert cancelled.cancel()
    assert held(site) == 0
    hf.enqueue_many([for_long.call(1), for_long.call(2).options(delay=600.0)])
    assert held(site) == 2
    assert queue.purge() == 2
    assert held(site) == 0
    expired = hf.enqueue(for_long.call(1).options(expires=0.001))
    sleep(0.01)
    drain(hf)
    assert (expired.status()).state == "dead"
    assert held(site) == 0
    assert (hf.enqueue(for_long.call(1))).enqueued == "new"
    assert not site.client.exists(keys.kept(unit_of(site)))


def test_a_replayed_task_takes_its_key_if_it_is_free(hf: Holdfast, site: Site) -> None:
    dead = [hf.enqueue(ends_as_requested.call(user, "give up")) for user in (1, 2)]
    drain(hf)
    other = hf.enqueue(ends_as_requested.call(2, "done").options(delay=600.0))
    assert hf.queue(QUEUE).replay() == 2
    assert hf.enqueue(ends_as_requested.call(1, "done")) == dead[0]
    assert hf.enqueue(ends_as_requested.call(2, "done")) == other
    drain(hf)  # both are dead again; the second one never held the key
    assert held(site) == 1
    assert hf.enqueue(ends_as_requested.call(2, "done")) == other


def test_a_waiting_task_gets_the_arguments_of_the_last_call(hf: Holdfast, site: Site) -> None:
    task_id = 'a"b\\c/ü'
    first = hf.enqueue(replaced.call(7, "a").options(task_id=task_id, expires=0.001))
    behind = hf.enqueue(until_end.call(1, "behind"))
    call = replaced.call(7, "b").options(headers={"from": "b"}, delay=600.0)
    second = hf.enqueue(call)
    assert (second, second.enqueued) == (first, "replaced")
    status = first.status()
    assert (status.args, status.headers, status.due_at) == ((7, "b"), {"from": "b"}, None)
    drain(hf)  # at its place, and it does not expire
    assert ran == [(7, "b"), (1, "behind")]
    assert (behind.status()).state == "done"
    assert held(site) == 0


def test_a_replaced_task_has_the_priority_of_the_last_call(hf: Holdfast) -> None:
    hf.enqueue(until_end.call(1, "before"))
    for text, priority in (("a", "low"), ("b", "medium"), ("c", "high")):
        handle = hf.enqueue(replaced.call(7, text).options(priority=priority))  # type: ignore[arg-type]
        assert (handle.status()).priority == priority
    assert (hf.queue(QUEUE).stats()).ready == 2
    drain(hf)
    assert ran == [(7, "c"), (1, "before")]


def test_a_task_that_waits_for_its_retry_gets_other_arguments(hf: Holdfast) -> None:
    handle = hf.enqueue(ends_as_requested.call(7, "fail"))
    drain(hf)
    unique = Unique(key="user", when="replace")
    hf.enqueue(ends_as_requested.call(7, "done").options(unique=unique))
    status = handle.status()
    assert (status.args, status.attempts, status.state) == ((7, "done"), 1, "delayed")
    assert start_in(hf, handle.task_id) > 800


def test_each_call_postpones_the_start_up_to_a_limit(hf: Holdfast) -> None:
    first = hf.enqueue(postponed.call(7, "a").options(delay=300.0))
    second = hf.enqueue(postponed.call(7, "b").options(delay=600.0))
    assert (second, second.enqueued) == (first, "postponed")
    assert 590 < start_in(hf, first.task_id) < 605
    hf.enqueue(postponed.call(7, "c").options(delay=30.0))  # never earlier
    assert 590 < start_in(hf, first.task_id) < 605
    hf.enqueue(postponed.call(7, "d").options(at=time.time() + 5000))
    assert 990 < start_in(hf, first.task_id) < 1005
    assert (first.status()).args == (7, "d")
    assert total(hf) == 1


def test_a_task_that_is_ready_is_postponed_too(hf: Holdfast) -> None:
    handle = hf.enqueue(until_end.call(7, "a"))
    unique = Unique(key="user", when="postpone")
    hf.enqueue(until_end.call(7, "b").options(unique=unique, delay=0.3))
    stats = hf.queue(QUEUE).stats()
    assert (stats.ready, stats.delayed) == (0, 1)
    hf.enqueue(until_end.call(1, "other"))
    hf.worker(tasks).run(until_idle=True)
    assert ran == [(1, "other"), (7, "b")]
    assert (handle.status()).state == "done"


def test_the_caller_may_want_an_error(hf: Holdfast) -> None:
    first = hf.enqueue(refused.call(7))
    with pytest.raises(TaskExists, match=first.task_id) as caught:
        hf.enqueue(refused.call(7))
    assert (caught.value.task_id, caught.value.queue) == (first.task_id, QUEUE)
    with pytest.raises(TaskExists) as caught:  # all of them, or none
        hf.enqueue_many([until_end.call(1), refused.call(8), refused.call(7)])
    assert caught.value.task_id == first.task_id
    assert total(hf) == 1
    with pytest.raises(TaskExists):  # two in one call
        hf.enqueue_many([refused.call(8), refused.call(8)])
    assert total(hf) == 1


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
def test_equal_keys_in_one_batch(
    hf: Holdfast, task: Task[..., Any], delay: float | None, enqueued: str, text: str
) -> None:
    calls = [task.call(7, each).options(delay=delay) for each in "abc"]
    calls.insert(1, until_end.call(1))
    handles = hf.enqueue_many(calls)
    assert [handle.enqueued for handle in handles] == ["new", "new", enqueued, enqueued]
    assert handles[0] == handles[2] == handles[3]
    assert (handles[0].status()).args == (7, text)
    assert total(hf) == 2


def test_batches_of_several_steps_and_queues(hf: Holdfast) -> None:
    calls = [until_end.call(n % 400) for n in range(1201)]
    calls[3:3] = [until_end.call(n % 3).options(queue="elsewhere") for n in range(6)]
    handles = hf.enqueue_many(calls)
    here = [handle for handle in handles if handle.queue == QUEUE]
    assert total(hf) == len({handle.task_id for handle in here}) == 400
    assert [handle.task_id for handle in here[400:800]] == [one.task_id for one in here[:400]]
    assert len({handle.task_id for handle in handles[3:9]}) == 3


def test_a_repeated_operation_has_the_first_answer(hf: Holdfast) -> None:
    first = hf.enqueue(replaced.call(7, "a"))
    op_ids = [f"hf:repeated0000.{n}" for n in (1, 2, 3)]
    for _ in range(2):
        second = hf.enqueue(replaced.call(7, "b"), op_id=op_ids[0])
        assert (second, second.enqueued) == (first, "replaced")
    hf.enqueue(replaced.call(7, "c"))
    assert (hf.enqueue(replaced.call(7, "b"), op_id=op_ids[0])) == first
    assert (first.status()).args == (7, "c")  # applied once
    drain(hf)
    assert (hf.enqueue(replaced.call(7, "b"), op_id=op_ids[0])) == first
    assert total(hf) == 0
    # An error stored nothing, so the operation is tried again.
    blocking = hf.enqueue(refused.call(7))
    for _ in range(2):
        with pytest.raises(TaskExists):
            hf.enqueue(refused.call(7), op_id=op_ids[1])
    blocking.cancel()
    assert (hf.enqueue(refused.call(7), op_id=op_ids[1])).enqueued == "new"


def test_a_full_queue_needs_no_room_for_a_key_that_is_held(hf: Holdfast) -> None:
    hf.queue(QUEUE, capacity=2)
    hf.enqueue_many([replaced.call(7), until_end.call(7)])
    assert (hf.enqueue(until_end.call(7))).enqueued == "existing"
    assert (hf.enqueue(replaced.call(7, "b"))).enqueued == "replaced"
    with pytest.raises(QueueAtCapacity):
        hf.enqueue(until_end.call(8))
    with pytest.raises(QueueAtCapacity):
        hf.enqueue_many([replaced.call(7, "c"), until_end.call(8)])
    assert hf.enqueue_many([until_end.call(7)] * 5)
    drain(hf)
    assert ran == [(7, "b"), (7, "")]


def test_a_task_id_that_is_taken_changes_nothing(hf: Holdfast, site: Site) -> None:
    plain = hf.enqueue(until_end.call(1).options(task_id="mine", unique=False))
    again = hf.enqueue(until_end.call(7).options(task_id="mine"))
    assert (again, again.enqueued) == (plain, "existing")
    assert held(site) == 0


def test_keys_that_were_left_over_block_nothing_and_go(hf: Holdfast, site: Site) -> None:
    """Another program removed the tasks, or an older version settled them."""
    unique, bodies = keys.unique(unit_of(site)), keys.bodies(unit_of(site))
    gone = hf.enqueue_many([until_end.call(user) for user in range(30)])
    for handle in gone:
        handle.cancel()
    left = {f"key{user}": f"0:{handle.task_id}" for user, handle in enumerate(gone)}
    site.client.hset(unique, mapping=left)
    first = hf.enqueue(until_end.call(7).options(unique=False, task_id="mine"))
    key = (keys_of(hf, until_end.call(7)))[0]
    site.client.hset(unique, key, "0:mine")  # this task does not name the key
    taken = hf.enqueue(until_end.call(7))
    assert taken.enqueued == "new"
    assert taken != first
    for user in range(100, 160):
        hf.enqueue(until_end.call(user))
    assert site.client.hlen(unique) < site.client.hlen(bodies) + 5


def test_an_occurrence_of_a_schedule_respects_the_key(hf: Holdfast, site: Site) -> None:
    schedule = hf.schedule("often", replaced.call(7, "often"), Every(seconds=3600))
    waiting = hf.enqueue(replaced.call(7, "a").options(delay=600.0))
    hf.schedule("skips", until_end.call(8, "skips"), Every(seconds=3600))
    other = hf.enqueue(until_end.call(8).options(delay=600.0))
    times, now_ms = keys.schedule_times(unit_of(site)), time.time() * 1000
    for name in (b"often", b"skips"):
        site.client.zadd(times, {name: site.client.zscore(times, name) - 3_600_000})
    with running(hf.worker(tasks)):
        eventually(
            lambda: all(site.client.zscore(times, name) > now_ms for name in (b"often", b"skips"))
        )
    assert ran == []
    assert (waiting.status()).args == (7, "often")
    status = schedule.status()
    assert (status.fired, status.skipped) == (1, 0)
    status = hf.schedule_handle("skips").status()
    assert (status.fired, status.skipped) == (0, 1)
    assert (other.status()).args == (8,)
    assert (schedule.trigger()) == waiting
