"""Durable steps, sleeps and signals, with real workers."""

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, AsyncTaskHandle, SignalRefused, TaskFailed, TaskRegistry
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.testing._async.task_bench import AsyncTaskBench
from queues.schedule.scheduled_tasks import running_async
from queues.step_tasks import (
    QUEUE,
    changed,
    compensates,
    cpu_tasks,
    dies,
    failing,
    fails_after,
    fails_after_plain,
    handles_any,
    misuses,
    no_json,
    no_json_plain,
    on_a_core,
    one_per_customer,
    only_one,
    ran,
    sleeps,
    sleeps_plain,
    tasks,
    three,
    three_plain,
    waits,
    waits_plain,
)

FAR = 30 * 24 * 3600.0


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    ran.clear()
    failing.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def drain(hf: AsyncHoldfast, registry: TaskRegistry = tasks) -> None:
    """Run everything that may run now."""
    await AsyncTaskBench(hf).drain(registry, queues=[QUEUE])


async def advance(hf: AsyncHoldfast, seconds: float) -> None:
    """Run what happens in so many seconds."""
    await AsyncTaskBench(hf).advance(tasks, seconds, queues=[QUEUE])


async def state(handle: AsyncTaskHandle[Any]) -> str:
    return (await handle.status()).state


def stored(site: Site) -> int:
    """Return how much is stored of steps and signals."""
    unit = Namespace.of(site.namespace).unit(keys.KIND, QUEUE)
    names = (keys.step_index(unit), keys.steps(unit), keys.signals(unit))
    return sum(site.client.hlen(name) for name in names)


@pytest.mark.parametrize("task", [three, three_plain])
async def test_each_step_runs_once_and_has_an_id(hf: AsyncHoldfast, site: Site, task: Any) -> None:
    handle = await hf.enqueue(task.call())
    await drain(hf)
    ids = [f"{handle.task_id}/{name}" for name in ("reserve", "charge", "charge#2")]
    assert await handle.result(timeout=0) == ids
    assert ran == ["reserve", "charge", "ship"]
    assert stored(site) == 0


@pytest.mark.parametrize("task", [fails_after, fails_after_plain])
async def test_a_retry_does_not_repeat_steps_that_ended(hf: AsyncHoldfast, task: Any) -> None:
    handle = await hf.enqueue(task.call(2))
    await drain(hf)
    assert await handle.result(timeout=0) == "book 97"
    assert ran == ["order"]


@pytest.mark.parametrize("task", [three, three_plain])
async def test_a_step_that_fails_runs_again(hf: AsyncHoldfast, task: Any) -> None:
    failing.add("ship")
    handle = await hf.enqueue(task.call())
    await drain(hf)
    assert await state(handle) == "dead"
    assert ran == ["reserve", "charge", "ship", "ship", "ship"]
    steps = await handle.steps()
    assert [(step.number, step.name, step.state) for step in steps] == [
        (1, "reserve", "done"),
        (2, "charge", "done"),
    ]
    failing.clear()
    assert await hf.queue(QUEUE).replay([handle.task_id]) == 1
    await drain(hf)
    assert len(await handle.result(timeout=0)) == 3
    assert ran == ["reserve", "charge", "ship", "ship", "ship", "ship"]


async def test_a_failure_that_was_caught_stays_one(hf: AsyncHoldfast) -> None:
    failing.add("ship")
    handle = await hf.enqueue(compensates.call())
    await drain(hf)
    assert await handle.result(timeout=0) == "refunded"
    assert ran == ["charge", "ship", "('ship', 7)", "refund", "('ship', 7)"]


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ("exit", ["SystemExit", "2", None, 2]),
        ("later", ["RetryAfter", "HTTP 429", 30.0, None]),
        ("snooze", ["Snooze", "it runs again in 9 s", 9.0, None]),
    ],
)
async def test_what_was_caught_is_raised_again_as_it_was(
    hf: AsyncHoldfast, error: str, found: list[object]
) -> None:
    handle = await hf.enqueue(handles_any.call(error))
    await drain(hf)
    assert await handle.result(timeout=0) == found
    assert ran == ["note"]


@pytest.mark.parametrize("task", [sleeps, sleeps_plain])
async def test_a_task_sleeps_without_a_worker(hf: AsyncHoldfast, site: Site, task: Any) -> None:
    handle = await hf.enqueue(task.call(FAR))
    await drain(hf)
    status = await handle.status()
    assert (status.state, status.suspended, status.attempts) == ("delayed", "sleeping", 0)
    begun = (await handle.steps()).steps[-1]
    assert (begun.number, begun.state, begun.until) == (2, "sleeping", status.due_at)
    stats = await hf.queue(QUEUE).stats()
    assert (stats.delayed, stats.running, stats.ready) == (1, 0, 0)
    await advance(hf, FAR + 1)
    assert await handle.result(timeout=0) == 1
    assert ran == ["before", "after"]
    assert stored(site) == 0


@pytest.mark.parametrize("task", [waits, waits_plain])
async def test_a_signal_wakes_a_task(hf: AsyncHoldfast, site: Site, task: Any) -> None:
    handle = await hf.enqueue(task.call(2))
    await drain(hf)
    status = await handle.status()
    assert (status.suspended, status.waits_for, status.due_at) == ("waiting", "go", None)
    await handle.signal("other", 1)
    await drain(hf)
    assert ran == ["waits"]  # it was not woken by another signal
    await handle.signal("go", {"by": "ann"})
    assert await state(handle) == "queued"
    await drain(hf)
    await hf.queue(QUEUE).handle(handle.task_id).signal("go")
    await drain(hf)
    assert await handle.result(timeout=0) == [{"by": "ann"}, None]
    assert stored(site) == 0


@pytest.mark.parametrize("task", [waits, waits_plain])
async def test_signals_before_the_wait_are_taken_in_order(hf: AsyncHoldfast, task: Any) -> None:
    handle = await hf.enqueue(task.call(3))
    for value in range(3):
        await handle.signal("go", value)
    assert list((await handle.steps()).signals) == ["go"] * 3
    await drain(hf)
    assert await handle.result(timeout=0) == [0, 1, 2]
    assert ran == ["waits"] * 3


@pytest.mark.parametrize("task", [waits, waits_plain])
async def test_a_wait_that_timed_out_stays_so(hf: AsyncHoldfast, task: Any) -> None:
    handle = await hf.enqueue(task.call(2, 60.0))
    await drain(hf)
    await advance(hf, 61)
    assert (await handle.status()).suspended == "waiting"
    await handle.signal("go", "for the second")
    await drain(hf)
    assert await handle.result(timeout=0) == ["late", "for the second"]


async def test_a_signal_that_comes_too_late_is_for_the_next_wait(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(waits.call(2, 60.0))
    await drain(hf)
    sleepers = hf._resources.sleepers()
    await sleepers.look([QUEUE], 0.0)
    await sleepers.wake_first()
    time.sleep(0.01)  # noqa: ASYNC251 (no worker has noticed the timeout yet)
    await handle.signal("go", "for the second")
    await drain(hf)
    assert await handle.result(timeout=0) == ["late", "for the second"]


async def test_a_wait_with_no_time_takes_what_is_there(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(waits.call(2, 0.0))
    await handle.signal("go", 1)
    await drain(hf)
    assert await handle.result(timeout=0) == [1, "late"]


async def test_a_worker_until_idle_does_not_wait_for_signals(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(waits.call())
    await hf.worker(tasks).run(until_idle=True)
    assert (await handle.status()).suspended == "waiting"


async def test_a_running_worker_receives_a_signal(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(waits.call())

    async with running_async(hf.worker(tasks)):
        await eventually_async(lambda: ran == ["waits"])
        await handle.signal("go", 3)
        assert await handle.result(timeout=30) == [3]


async def test_a_signal_to_an_ended_task_is_refused(hf: AsyncHoldfast) -> None:
    done, dead = await hf.enqueue(three.call()), await hf.enqueue(dies.call())
    cancelled = await hf.enqueue(three.call().options(delay=60.0))
    await drain(hf)
    await cancelled.cancel()
    unknown = hf.queue(QUEUE).handle("nobody")
    handles = {"done": done, "dead": dead, "cancelled": cancelled, "unknown": unknown}
    for expected, handle in handles.items():
        with pytest.raises(SignalRefused) as refused:
            await handle.signal("go")
        assert refused.value.state == expected


async def test_signals_of_a_task_are_bounded(hf: AsyncHoldfast, site: Site) -> None:
    handle = await hf.enqueue(waits.call())
    for value in range(100):
        await handle.signal("go", value)
    with pytest.raises(SignalRefused, match="100 signals"):
        await handle.signal("go")
    with pytest.raises(ValueError, match="65,536"):
        await handle.signal("go", "x" * 2**16)
    with pytest.raises(TypeError, match="signal 'go' cannot be stored"):
        await handle.signal("go", object())
    assert await handle.cancel()
    assert stored(site) == 0


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("inside", "step 'inner' is asked for inside of step 'outer'"),
        ("together", "while step '.*' runs; the steps of a task run one after the other"),
        ("no JSON", "refused: the result of step 'object' of task '.*' cannot be stored"),
        ("too large", "refused: the result of step 'large' .* the limit is 1,048,576"),
        ("annotated", "the result of _file is or contains a Task, which cannot be stored"),
        ("names", "the name of a step holds no blanks"),
        ("many", "asks for more than 1,000 steps"),
        ("full", "refused: step 'large#16' .* the steps of a task take 16 MiB at most"),
    ],
)
async def test_misuse_is_refused(hf: AsyncHoldfast, how: str, reason: str) -> None:
    handle = await hf.enqueue(misuses.call(how))
    await drain(hf)
    with pytest.raises(TaskFailed, match=reason):
        await handle.result(timeout=0)
    attempts = 1 if "refused" in (await handle.status()).reason else 2
    assert (await handle.status()).attempts == attempts


@pytest.mark.parametrize("task", [no_json, no_json_plain])
async def test_a_result_that_is_no_json_loses_no_step(hf: AsyncHoldfast, task: Any) -> None:
    """The task is dead at once, and a replay continues with that step once the code is repaired."""
    failing.add("second")
    handle = await hf.enqueue(task.call())
    await drain(hf)
    status = await handle.status()
    assert (status.state, status.attempts) == ("dead", 1)
    assert status.reason.startswith("refused: the result of step 'second' of task")
    assert "cannot be stored: Encoding objects of type object is unsupported" in status.reason
    assert [(step.name, step.state) for step in await handle.steps()] == [("first", "done")]
    failing.clear()
    await hf.queue(QUEUE).replay([handle.task_id])
    await drain(hf)
    assert await handle.result(timeout=0) == [f"{handle.task_id}/first", 7]
    assert ran == ["first"]


async def test_a_task_that_swallows_its_suspension_sleeps_nevertheless(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(misuses.call("swallows"))
    await drain(hf)
    assert (await handle.status()).suspended == "sleeping"
    await advance(hf, 61)
    assert await handle.result(timeout=0) is None
    assert ran == ["swallowed"]


async def test_a_cpu_task_has_no_steps(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(on_a_core.call())
    await hf.worker(cpu_tasks).run(until_idle=True)
    with pytest.raises(TaskFailed, match="has cpu=True"):
        await handle.result(timeout=0)


async def test_a_sleeping_task_holds_no_concurrency(hf: AsyncHoldfast) -> None:
    await hf.enqueue(one_per_customer.call("ann", 60))
    await drain(hf)
    await hf.enqueue(one_per_customer.call("ann", 0))
    await drain(hf)
    assert ran == ["starts 60", "starts 0", "ends 0"]
    await advance(hf, 61)
    assert ran[3:] == ["starts 60", "ends 60"]


async def test_a_unique_task_that_waits_is_not_replaced(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(only_one.call(1))
    await drain(hf)
    again = await hf.enqueue(only_one.call(2))
    assert (again.task_id, again.enqueued) == (handle.task_id, "existing")
    await again.signal("go")
    await drain(hf)
    assert await handle.result(timeout=0) == 1


async def test_cancel_purge_and_pause_while_tasks_sleep(hf: AsyncHoldfast, site: Site) -> None:
    queue = hf.queue(QUEUE)
    handles = [await hf.enqueue(sleeps.call(FAR)) for _ in range(20)]
    waiting = await hf.enqueue(waits.call())
    await drain(hf)
    assert await handles[0].cancel()
    assert await state(handles[0]) == "cancelled"
    await queue.pause()
    await waiting.signal("go")
    await hf.worker(tasks).run(until_idle=True)
    assert await state(waiting) == "queued"  # it is woken, and the queue is paused
    await queue.resume()
    await drain(hf)
    assert await waiting.result(timeout=0) == [None]
    assert await queue.purge() == 19
    assert stored(site) == 0
    assert await state(handles[1]) == "unknown"


async def test_a_task_that_began_in_time_does_not_expire_asleep(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(sleeps.call(FAR).options(expires=1.0))
    await drain(hf)
    time.sleep(1.0)  # noqa: ASYNC251 (it would expire now)
    await advance(hf, FAR + 1)
    assert await handle.result(timeout=0) == 1


async def test_a_dead_task_keeps_its_steps_until_it_is_purged(
    hf: AsyncHoldfast, site: Site
) -> None:
    handle, other = await hf.enqueue(dies.call()), await hf.enqueue(dies.call())
    await drain(hf)
    ran.append("fixed")
    await hf.queue(QUEUE).replay([handle.task_id])
    await drain(hf)
    assert await handle.result(timeout=0) == f"{handle.task_id}/second"
    assert ran.count("first") == 2  # once in each task
    assert len(await other.steps()) == 1
    assert await hf.queue(QUEUE).purge(dead=True) == 1
    assert stored(site) == 0


@pytest.mark.parametrize("names", [["a", "x"], ["a"], [], ["b", "a", "c"]])
async def test_changed_steps_are_detected(hf: AsyncHoldfast, names: list[str]) -> None:
    old = changed(["a", "b", "fail"])
    handle = await hf.enqueue(old.get("evolves").call())
    await drain(hf, old)
    ran.clear()
    await hf.queue(QUEUE).replay()
    await drain(hf, changed(names))
    status = await handle.status()
    assert (status.state, status.attempts) == ("dead", 2)
    asked = ", ".join(f"step {name}" for name in names if name != "c") or "asked for nothing"
    assert "stored step a, step b" in status.reason
    assert asked.partition(", step a")[0] in status.reason
    assert ran == []
    await hf.queue(QUEUE).replay()
    await drain(hf, changed(["a", "b", "new"]))
    assert await handle.result(timeout=0) == "done"
    assert ran == ["new"]


async def test_two_workers_may_have_other_code(hf: AsyncHoldfast) -> None:
    """During a deploy, an attempt of the old code fails, and the new code goes on."""
    new = changed(["a", "b", "fail"])
    handle = await hf.enqueue(new.get("evolves").call())
    await drain(hf, new)
    await hf.queue(QUEUE).replay()
    old = hf.worker(changed(["z"]), concurrency=1)
    assert not await old.run(until_idle=True)
    assert "asks for other steps" in (await handle.status()).reason


async def test_the_audit_finds_nothing_wrong(hf: AsyncHoldfast) -> None:
    for call in (sleeps.call(FAR), waits.call(), dies.call()):
        handle = await hf.enqueue(call)
        await drain(hf)
        if await state(handle) != "dead":
            await handle.signal("other", [1])
    assert (await hf.audit()).damages == ()
