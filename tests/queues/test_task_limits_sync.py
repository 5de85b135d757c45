# Generated from test_task_limits_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Limits of tasks: how many run at once, how many start in a time, and in which order."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import Call, Holdfast, Limit, PerKey, Task, TaskRegistry
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from holdfast.testing._sync.task_bench import TaskBench
from queues.limited_tasks import (
    QUEUE,
    at_once,
    at_work,
    ends_as_requested,
    in_time,
    in_turns,
    most,
    one,
    other,
    ran,
    replaced,
    seldom,
    started,
    tasks,
)
from queues.schedule.scheduled_tasks import running


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    for log in (ran, started, at_work, most):
        log.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def drain(hf: Holdfast, registry: TaskRegistry = tasks) -> None:
    """Run everything that may run now."""
    TaskBench(hf).drain(registry, queues=[QUEUE])


def unit_of(site: Site) -> Unit:
    return Namespace.of(site.namespace).unit(keys.KIND, QUEUE)


def nothing_is_left(site: Site) -> bool:
    """Return whether no key of a limit is in use or remembered."""
    unit = unit_of(site)
    return not site.client.exists(
        keys.limit_keys(unit), keys.admitted(unit), keys.limited(unit), *keys.ready(unit)
    )


def numbers(hf: Holdfast) -> tuple[int, int, int]:
    """Return how many tasks are ready, how many of them limited, and how many delayed."""
    stats = hf.queue(QUEUE).stats()
    return stats.ready, stats.limited, stats.delayed


def test_no_key_runs_more_tasks_at_once_than_it_may(hf: Holdfast, site: Site) -> None:
    calls = [at_once.call(tenant, n, 0.01) for n in range(10) for tenant in "abc"]
    handles = hf.enqueue_many(calls)
    assert numbers(hf) == (30, 24, 0)
    statuses = [handle.status() for handle in handles[::3]]
    assert [status.limited for status in statuses] == [False] * 2 + [True] * 8
    assert {(status.state, status.limit_key) for status in statuses} == {("queued", "at_once a")}
    drain(hf)
    assert most == {"a": 2, "b": 2, "c": 2}
    assert sorted(ran) == sorted((tenant, n) for tenant in "abc" for n in range(10))
    assert [handle.result() for handle in handles] == [None] * 30
    eventually(lambda: nothing_is_left(site))


def test_waiting_tasks_are_listed_counted_and_can_be_awaited(hf: Holdfast) -> None:
    handles = hf.enqueue_many([at_once.call("a", n) for n in range(4)])
    listed = hf.queue(QUEUE).tasks("queued")
    assert [(status.args[1], status.limited) for status in listed] == [
        (0, False),
        (1, False),
        (2, True),
        (3, True),
    ]
    with pytest.raises(TimeoutError):
        handles[3].result(timeout=0.01)


def test_another_priority_goes_first_within_its_key(hf: Holdfast) -> None:
    calls: list[Call[Any]] = [ends_as_requested.call("a", "", 0)]
    calls += [ends_as_requested.call("a", "", n).options(priority="low") for n in (3, 4)]
    calls += [ends_as_requested.call("a", "", n) for n in (2, 5)]
    calls += [ends_as_requested.call("a", "", 1).options(priority="high")]
    hf.enqueue_many(calls)
    drain(hf)
    assert [n for _, n in ran] == [0, 1, 2, 5, 3, 4]


def test_limits_of_the_same_name_are_shared(hf: Holdfast) -> None:
    calls: list[Call[Any]] = [one.call("a"), other.call("a"), other.call("a", region="us")]
    hf.enqueue_many([*calls, one.call("a", region="eu"), other.call(tenant="b")])
    assert numbers(hf) == (5, 2, 0)
    status = (hf.queue(QUEUE).tasks())[-1]
    assert status.limit_key == 'shared ["a","eu"]'
    drain(hf)
    assert len(ran) == 5


def test_a_cancelled_task_gives_its_permit_to_the_next_one(hf: Holdfast, site: Site) -> None:
    handles = hf.enqueue_many([at_once.call("a", n) for n in range(5)])
    for n in (3, 0):  # one that is kept apart, and one that is ready
        assert handles[n].cancel()
    assert numbers(hf) == (3, 1, 0)
    assert not (handles[2].status()).limited
    drain(hf)
    assert sorted(n for _, n in ran) == [1, 2, 4]
    eventually(lambda: nothing_is_left(site))


def test_purge_removes_what_waits_apart(hf: Holdfast, site: Site) -> None:
    hf.enqueue_many([at_once.call(tenant, n) for n in range(1200) for tenant in "ab"])
    assert hf.queue(QUEUE).purge() == 2400
    assert numbers(hf) == (0, 0, 0)
    eventually(lambda: nothing_is_left(site))  # within a millisecond


def test_a_task_that_waits_for_its_next_attempt_holds_no_permit(hf: Holdfast) -> None:
    how = ("retry", "give up", "")
    hf.enqueue_many([ends_as_requested.call("a", each, n) for n, each in enumerate(how)])
    drain(hf)
    assert [n for _, n in ran] == [0, 1, 2]
    assert numbers(hf) == (0, 0, 1)
    hf.queue(QUEUE).replay()
    drain(hf)
    assert [n for _, n in ran] == [0, 1, 2, 1]


def test_delayed_tasks_ask_for_a_permit_when_they_are_due(hf: Holdfast) -> None:
    calls = [at_once.call("a", n, 0.01).options(delay=0.2) for n in range(6)]
    hf.enqueue_many(calls)
    assert numbers(hf) == (0, 0, 6)
    with running(hf.worker(tasks, queues={QUEUE: 1})):
        eventually(lambda: len(ran) == 6)
    assert most == {"a": 2}


def test_a_rate_is_never_exceeded(hf: Holdfast) -> None:
    hf.enqueue_many([in_time.call("a", n) for n in range(8)])
    begun = time.monotonic()
    with running(hf.worker(tasks, queues={QUEUE: 1})):
        eventually(lambda: len(ran) == 8)
    assert ran == [("a", n) for n in range(8)]
    assert time.monotonic() - begun >= 1.0  # 3 at once, 3 after half a second, 2 after a second
    assert min(b - a for a, b in zip(started, started[3:], strict=False)) > 0.3  # starts jitter


def test_a_rate_holds_back_only_its_key(hf: Holdfast, site: Site) -> None:
    hf.enqueue_many([seldom.call(tenant, n) for n in range(3) for tenant in "ab"])
    drain(hf)
    assert ran == [("a", 0), ("b", 0)]
    assert numbers(hf) == (2, 2, 2)  # of each key, one has an instant, and one waits for it
    assert hf.queue(QUEUE).purge() == 4
    assert site.client.pttl(keys.limit_keys(unit_of(site))) > 900_000  # the starts still count
    hf.enqueue(seldom.call("a", 9))
    drain(hf)
    assert len(ran) == 2


def test_a_task_pauses_its_key(hf: Holdfast) -> None:
    hf.enqueue_many([ends_as_requested.call("a", "pause", 0), ends_as_requested.call("b", "", 0)])
    hf.enqueue_many([ends_as_requested.call("a", "", n) for n in (1, 2)])
    drain(hf)
    assert ran == [("a", 0), ("b", 0)]
    assert numbers(hf) == (1, 1, 2)
    hf.enqueue(ends_as_requested.call("a", "", 3).options(priority="high"))
    drain(hf)
    assert ran == [("a", 0), ("b", 0)]


def test_keys_take_turns(hf: Holdfast, site: Site) -> None:
    hf.enqueue_many([in_turns.call("a", n) for n in range(5)])
    hf.enqueue_many([in_turns.call(tenant, n) for tenant in "bc" for n in range(2)])
    drain(hf)
    assert ran[:3] == [("a", 0), ("b", 0), ("c", 0)]
    assert ran[3:6] == [("a", 1), ("b", 1), ("c", 1)]
    assert ran[6:] == [("a", 2), ("a", 3), ("a", 4)]
    eventually(lambda: nothing_is_left(site))


def test_turns_count_for_delayed_tasks_too(hf: Holdfast) -> None:
    hf.enqueue_many([in_turns.call("a", n).options(delay=0.05) for n in range(4)])
    hf.enqueue_many([in_turns.call("b", n).options(delay=0.05) for n in range(2)])
    eventually(lambda: _is_due(hf))
    drain(hf)
    assert {tenant for tenant, _ in ran[:2]} == {tenant for tenant, _ in ran[2:4]} == {"a", "b"}


def _is_due(hf: Holdfast) -> bool:
    return (hf.queue(QUEUE).stats()).ready == 6


def test_a_unique_task_takes_another_key(hf: Holdfast, site: Site) -> None:
    first = hf.enqueue(replaced.call("a", 1, 0))
    hf.enqueue(replaced.call("a", 2, 1))
    hf.enqueue(replaced.call("b", 3, 2))
    assert numbers(hf) == (3, 1, 0)
    changed = hf.enqueue(replaced.call("b", 1, 3))
    assert (changed.task_id, changed.enqueued) == (first.task_id, "replaced")
    assert numbers(hf) == (3, 0, 0)  # it is due, and asks for a place of its new key
    drain(hf)
    assert sorted(ran) == [("a", 1), ("b", 2), ("b", 3)]
    eventually(lambda: nothing_is_left(site))


def registry(limit: PerKey | None, log: list[int], name: str = "at_once") -> TaskRegistry:
    """Return the task of another deploy."""
    changed = TaskRegistry()

    @changed.task(queue=QUEUE, name=name, limit=limit)
    def task(tenant: str, n: int = 0, took: float = 0.0) -> None:
        log.append(n)

    return changed


@pytest.mark.parametrize("limit", [None, PerKey("tenant", concurrency=3)])
def test_a_deploy_may_change_or_remove_a_limit(hf: Holdfast, limit: PerKey | None) -> None:
    calls = [at_once.call(tenant, n) for n in range(5) for tenant in "ab"]
    hf.enqueue_many(calls)
    hf.queue(QUEUE).pause()
    log: list[int] = []
    more = 0 if limit is None else 4
    with running(hf.worker(registry(limit, log), queues={QUEUE: 1})):
        eventually(lambda: _limited(hf, more))
        hf.queue(QUEUE).resume()
        eventually(lambda: len(log) == 10)


def _limited(hf: Holdfast, number: int) -> bool:
    return (hf.queue(QUEUE).stats()).limited == number


def test_a_lower_concurrency_counts_at_once(hf: Holdfast) -> None:
    hf.enqueue_many([at_once.call("a", n, 0.01) for n in range(5)])
    slower = TaskRegistry()
    slower.task(queue=QUEUE, name="at_once", limit=PerKey("tenant", concurrency=1))(
        at_once.function
    )
    worker = hf.worker(slower, queues={QUEUE: 1})
    hf.queue(QUEUE).pause()
    with running(worker):
        eventually(lambda: _limited_to(hf, "1 0 0 0"))
        hf.queue(QUEUE).resume()
        eventually(lambda: len(ran) == 5)
    assert most == {"a": 1}


def _limited_to(hf: Holdfast, definition: str) -> bool:
    queue = hf.queue(QUEUE)
    unit = queue._unit
    stored = queue._caller.read(unit, "HGET", keys.settings(unit), "limit:at_once")
    return bool(stored == definition.encode())


def test_a_renamed_task_leaves_nothing_behind(hf: Holdfast) -> None:
    """Tasks of the old name are run by the new code under the old name, with its limits."""
    hf.enqueue_many([at_once.call("a", n) for n in range(5)])
    log: list[int] = []
    drain(hf, registry(PerKey("tenant", concurrency=1, name="new"), log))
    assert sorted(log) == list(range(5))


def test_a_limit_that_gets_a_name_keeps_its_definition(hf: Holdfast) -> None:
    """Tasks that were enqueued before are admitted by it."""
    hf.enqueue_many([at_once.call("a", n, 0.02) for n in range(8)])
    named = PerKey("tenant", concurrency=5, name="new")
    registry = TaskRegistry()
    registry.task(queue=QUEUE, name="at_once", limit=named)(at_once.function)
    hf.worker(registry, queues={QUEUE: 1}).run(until_idle=True)
    assert len(ran) == 8
    assert most == {"a": 2}
    assert _limited_to(hf, "2 0 0 0")


def test_a_queue_has_a_concurrency(hf: Holdfast) -> None:
    hf.queue(QUEUE).limit(concurrency=3)
    hf.enqueue_many([at_once.call(str(n), n, 0.02) for n in range(20)])
    drain(hf)
    assert len(ran) == 20
    stats = hf.queue(QUEUE).stats()
    assert (stats.concurrency, stats.rate) == (3, None)
    hf.queue(QUEUE).limit(concurrency=0)
    assert (hf.queue(QUEUE).stats()).concurrency is None


def test_a_queue_has_a_rate(hf: Holdfast) -> None:
    hf.queue(QUEUE).limit(rate=Limit(4, per=0.5))
    hf.enqueue_many([at_once.call(str(n), n) for n in range(12)])
    begun = time.monotonic()
    with running(hf.worker(tasks, queues={QUEUE: 1})):
        eventually(lambda: len(ran) == 12)
    assert time.monotonic() - begun >= 1.0
    hf.queue(QUEUE).limit(concurrency=2)
    stats = hf.queue(QUEUE).stats()
    assert (stats.concurrency, stats.rate) == (2, (4, 0.5))
    hf.queue(QUEUE).limit(rate=None, concurrency=None)
    assert (hf.queue(QUEUE).stats()).rate is None


def test_options_that_cannot_be_are_refused() -> None:
    registry = TaskRegistry()
    with pytest.raises(ValueError, match="needs a limit: give concurrency, rate or both"):
        PerKey("tenant")
    with pytest.raises(ValueError, match="concurrency must be 1 to"):
        PerKey("tenant", concurrency=0)
    with pytest.raises(TypeError, match=r"rate must be a Limit\(10, per=1\.0\), got 5"):
        PerKey("tenant", rate=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs the name of an argument"):
        PerKey((), concurrency=1)
    with pytest.raises(ValueError, match="has no parameter 'tenant' for the key of its limit"):
        registry.task(limit=PerKey("tenant", concurrency=1))(_nothing)
    with pytest.raises(ValueError, match="has no parameter 'tenant'"):
        registry.task(fair_by="tenant")(_nothing)
    with pytest.raises(ValueError, match="a task has one limit key"):
        registry.task(fair_by="user", limit=PerKey("tenant", concurrency=1))(_nothing)
    with pytest.raises(TypeError, match="limit must be a PerKey"):
        registry.task(limit=Limit(1, per=1.0))(_nothing)  # type: ignore[arg-type]


def test_a_key_that_json_cannot_store_is_refused(hf: Holdfast) -> None:
    task = TaskRegistry().task(limit=PerKey("user", concurrency=1))(_nothing)
    for key in ("\ud800", ["\ud800"], object()):
        with pytest.raises(TypeError, match=r"the limit key .*cannot be stored"):
            hf.enqueue(task.call(key))  # type: ignore[arg-type]
    assert hf.queues() == []


def _nothing(user: int) -> None: ...


def test_keys_are_short_and_readable() -> None:
    task: Task[..., Any] = at_once
    for key, shown in (("a b", "a%20b"), (17, "17"), ("ü" * 50, "~"), (None, "null")):
        packed = task.call(key).packed_limit()
        assert packed.startswith(f"2 0 0 0 at_once {shown}")
        assert len(packed) < 100
