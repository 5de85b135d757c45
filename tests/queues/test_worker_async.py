"""The worker: runs each task, tries again what fails, and dead-letters what keeps failing."""

import json
import logging
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from conftest import Site
from holdfast import AsyncHoldfast, Holdfast, TaskRegistry, current_task
from queues.sample_tasks import (
    cancels_itself,
    dated,
    describes_itself,
    describes_itself_in_a_thread,
    disguised,
    fails,
    fails_until,
    hangs_until_stopped,
    in_a_thread,
    on_the_loop,
    ran,
    stop_first,
    tasks,
)


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    ran.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def drain(hf: AsyncHoldfast) -> None:
    """Run everything that is there."""
    await hf.worker(tasks).run(until_idle=True)


async def test_async_functions_run_on_the_loop_and_plain_ones_in_threads(hf: AsyncHoldfast) -> None:
    await hf.enqueue_many([on_the_loop.call(1), in_a_thread.call(2)])
    await drain(hf)
    assert sorted(ran) == [(1, True), (2, False)]


async def test_nothing_stays_behind_when_all_is_done(hf: AsyncHoldfast, site: Site) -> None:
    await hf.enqueue_many([on_the_loop.call(n) for n in range(100)])
    await drain(hf)
    stats = await hf.queue("work").stats()
    assert (stats.ready, stats.delayed, stats.running, stats.dead) == (0, 0, 0, 0)
    assert stats.waiting_workers == 0
    for key in site.client.scan_iter(f"{site.namespace}:*"):
        assert site.client.ttl(key) > 0 or b"{layout:" in key, key


async def test_a_task_that_fails_runs_again(hf: AsyncHoldfast) -> None:
    await hf.enqueue(fails_until.call(3))
    await drain(hf)
    assert ran == [1, 2, 3]
    assert await hf.queue("work").dead() == []


async def test_a_task_that_keeps_failing_ends_dead_with_a_reason(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(fails_until.call(9))
    await hf.enqueue(on_the_loop.call(1))
    before = datetime.now(UTC)
    await drain(hf)
    [dead] = await hf.queue("work").dead()
    assert (dead.task_id, dead.task, dead.attempts) == (handle.task_id, "fails_until", 3)
    assert dead.reason == "failed: ValueError: not yet"
    assert abs((dead.ended_at - before).total_seconds()) < 60
    assert (1, True) in ran


async def test_dead_tasks_are_replayed_with_all_their_attempts(hf: AsyncHoldfast) -> None:
    handles = await hf.enqueue_many([fails_until.call(9) for _ in range(3)])
    await drain(hf)
    queue = hf.queue("work")
    assert await queue.replay([handles[1].task_id, "unheard-of"]) == 1
    assert (await queue.stats()).dead == 2
    assert await queue.replay() == 2
    assert await queue.replay() == 0
    ran.clear()
    await drain(hf)
    assert sorted(ran) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [dead.attempts for dead in await queue.dead()] == [3, 3, 3]
    assert len(await queue.dead(limit=2)) == 2


@pytest.mark.parametrize("how", ["exit", "stop", "cancel", "long"])
async def test_whatever_a_task_raises_is_its_own_failure(hf: AsyncHoldfast, how: str) -> None:
    await hf.enqueue_many([fails.call(how), cancels_itself.call(), on_the_loop.call(1)])
    await drain(hf)
    reasons = [dead.reason for dead in await hf.queue("work").dead()]
    assert len(reasons) == 2
    assert all(reason.startswith("failed: ") and len(reason) <= 500 for reason in reasons)
    assert (1, True) in ran


async def test_arguments_arrive_with_the_types_of_the_signature(hf: AsyncHoldfast) -> None:
    day = datetime(2026, 11, 21, tzinfo=UTC)
    await hf.enqueue(dated.call(day, 1, 2.5, factor=2))
    await drain(hf)
    assert ran == [(day, (1.0, 2.5), 2.0)]


async def test_an_async_function_in_disguise_is_run_to_its_end(hf: AsyncHoldfast) -> None:
    await hf.enqueue(disguised.call(7))
    await drain(hf)
    assert ran == [7]


async def test_a_task_may_ask_what_it_is(hf: AsyncHoldfast) -> None:
    handles = await hf.enqueue_many([describes_itself.call(), describes_itself_in_a_thread.call()])
    await drain(hf)
    assert [task.task_id for task in ran] == [handle.task_id for handle in handles]
    first = ran[0]
    assert (first.task, first.queue, first.attempt) == ("describes_itself", "work", 1)
    assert first.token > 0
    assert abs((datetime.now(UTC) - first.enqueued_at).total_seconds()) < 60
    with pytest.raises(LookupError, match="outside of a task"):
        current_task()


async def test_a_task_of_another_language_runs(hf: AsyncHoldfast, site: Site) -> None:
    """A raw client that follows the documented envelope needs no more than these fields."""
    body = json.dumps({"v": 1, "id": "raw-1", "queue": "work", "task": "on_the_loop", "args": [5]})
    prefix = f"{site.namespace}:{{queue:work}}:"
    site.client.hset(prefix + "bodies", "raw-1", body)
    site.client.rpush(prefix + "ready:m", "raw-1")
    await drain(hf)
    assert ran == [(5, True)]


async def test_every_attempt_is_a_log_record(
    hf: AsyncHoldfast, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "holdfast.worker")
    await hf.enqueue_many([fails_until.call(2), fails.call("exit")])
    await drain(hf)
    records = [record for record in caplog.records if hasattr(record, "holdfast_task")]
    outcomes = {(r.holdfast_task, r.holdfast_attempt, r.holdfast_outcome) for r in records}
    assert outcomes == {
        ("fails_until", 1, "retry"),
        ("fails_until", 2, "done"),
        ("fails", 1, "dead"),
    }
    assert all(r.holdfast_queue == "work" and r.holdfast_duration_s >= 0 for r in records)


async def test_a_stopped_worker_finishes_what_runs(hf: AsyncHoldfast) -> None:
    registry = TaskRegistry()
    worker = hf.worker(registry, queues={"work": 1}, concurrency=1)

    @registry.task(queue="work")
    def stops_the_worker(n: int) -> None:
        worker.stop()
        time.sleep(0.1)
        ran.append(n)

    await hf.enqueue_many([stops_the_worker.call(n) for n in range(3)])
    await worker.run()
    assert ran == [0]
    assert (await hf.queue("work").stats()).ready == 2


async def test_what_does_not_finish_in_the_grace_is_given_back(hf: AsyncHoldfast) -> None:
    worker = hf.worker(tasks, concurrency=1, grace=0.05)
    stop_first.append(worker.stop)
    await hf.enqueue(hangs_until_stopped.call())
    await worker.run()
    assert (await hf.queue("work").stats()).ready == 1
    await drain(hf)
    assert ran == [1, 1]


async def test_until_idle_waits_for_what_the_tasks_enqueue(hf: AsyncHoldfast, site: Site) -> None:
    registry = TaskRegistry()

    @registry.task(queue="first")
    def ping(n: int) -> None:
        time.sleep(0.1)
        with Holdfast.from_url(site.url, namespace=site.namespace) as inner:
            inner.enqueue(pong.call(n))

    @registry.task(queue="second")
    def pong(n: int) -> None:
        ran.append(n)
        if n < 3:
            with Holdfast.from_url(site.url, namespace=site.namespace) as inner:
                inner.enqueue(ping.call(n + 1))

    await hf.enqueue(ping.call(1))
    await hf.worker(registry).run(until_idle=True)
    assert ran == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"concurrency": 0}, "concurrency must be 1 to 10,000"),
        ({"lease": 0.5}, "lease must be at least 1 s"),
        ({"lease": float("nan")}, "finite"),
        ({"grace": -1}, "grace must be 0 seconds or more"),
        ({"queues": {"work": 0}}, "weight of queue 'work' must be 1 or more"),
    ],
)
async def test_wrong_options_are_refused_before_any_io(
    options: dict[str, object], problem: str
) -> None:
    hf = AsyncHoldfast.from_url("redis://127.0.0.1:1")
    with pytest.raises(ValueError, match=problem):
        hf.worker(tasks, **options)
