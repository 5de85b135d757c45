# Generated from test_steps_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Durable steps, sleeps and signals, with real workers."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import Holdfast, SignalRefused, TaskFailed, TaskHandle, TaskRegistry
from holdfast.core.names import Namespace
from holdfast.queues import keys
from holdfast.testing._sync.task_bench import TaskBench
from queues.schedule.scheduled_tasks import running
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
def hf(site: Site) -> Iterator[Holdfast]:
    ran.clear()
    failing.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def drain(hf: Holdfast, registry: TaskRegistry = tasks) -> None:
    """Run everything that may run now."""
    TaskBench(hf).drain(registry, queues=[QUEUE])


def advance(hf: Holdfast, seconds: float) -> None:
    """Run what happens in so many seconds."""
    TaskBench(hf).advance(tasks, seconds, queues=[QUEUE])


def state(handle: TaskHandle[Any]) -> str:
    return (handle.status()).state


def stored(site: Site) -> int:
    """Return how much is stored of steps and signals."""
    unit = Namespace.of(site.namespace).unit(keys.KIND, QUEUE)
    names = (keys.step_index(unit), keys.steps(unit), keys.signals(unit))
    return sum(site.client.hlen(name) for name in names)


@pytest.mark.parametrize("task", [three, three_plain])
def test_each_step_runs_once_and_has_an_id(hf: Holdfast, site: Site, task: Any) -> None:
    handle = hf.enqueue(task.call())
    drain(hf)
    ids = [f"{handle.task_id}/{name}" for name in ("reserve", "charge", "charge#2")]
    assert handle.result(timeout=0) == ids
    assert ran == ["reserve", "charge", "ship"]
    assert stored(site) == 0


@pytest.mark.parametrize("task", [fails_after, fails_after_plain])
def test_a_retry_does_not_repeat_steps_that_ended(hf: Holdfast, task: Any) -> None:
    handle = hf.enqueue(task.call(2))
    drain(hf)
    assert handle.result(timeout=0) == "book 97"
    assert ran == ["order"]


@pytest.mark.parametrize("task", [three, three_plain])
def test_a_step_that_fails_runs_again(hf: Holdfast, task: Any) -> None:
    failing.add("ship")
    handle = hf.enqueue(task.call())
    drain(hf)
    assert state(handle) == "dead"
    assert ran == ["reserve", "charge", "ship", "ship", "ship"]
    steps = handle.steps()
    assert [(step.number, step.name, step.state) for step in steps] == [
        (1, "reserve", "done"),
        (2, "charge", "done"),
    ]
    failing.clear()
    assert hf.queue(QUEUE).replay([handle.task_id]) == 1
    drain(hf)
    assert len(handle.result(timeout=0)) == 3
    assert ran == ["reserve", "charge", "ship", "ship", "ship", "ship"]


def test_a_failure_that_was_caught_stays_one(hf: Holdfast) -> None:
    failing.add("ship")
    handle = hf.enqueue(compensates.call())
    drain(hf)
    assert handle.result(timeout=0) == "refunded"
    assert ran == ["charge", "ship", "('ship', 7)", "refund", "('ship', 7)"]


@pytest.mark.parametrize(
    ("error", "found"),
    [
        ("exit", ["SystemExit", "2", None, 2]),
        ("later", ["RetryAfter", "HTTP 429", 30.0, None]),
        ("snooze", ["Snooze", "it runs again in 9 s", 9.0, None]),
    ],
)
def test_what_was_caught_is_raised_again_as_it_was(
    hf: Holdfast, error: str, found: list[object]
) -> None:
    handle = hf.enqueue(handles_any.call(error))
    drain(hf)
    assert handle.result(timeout=0) == found
    assert ran == ["note"]


@pytest.mark.parametrize("task", [sleeps, sleeps_plain])
def test_a_task_sleeps_without_a_worker(hf: Holdfast, site: Site, task: Any) -> None:
    handle = hf.enqueue(task.call(FAR))
    drain(hf)
    status = handle.status()
    assert (status.state, status.suspended, status.attempts) == ("delayed", "sleeping", 0)
    begun = (handle.steps()).steps[-1]
    assert (begun.number, begun.state, begun.until) == (2, "sleeping", status.due_at)
    stats = hf.queue(QUEUE).stats()
    assert (stats.delayed, stats.running, stats.ready) == (1, 0, 0)
    advance(hf, FAR + 1)
    assert handle.result(timeout=0) == 1
    assert ran == ["before", "after"]
    assert stored(site) == 0


@pytest.mark.parametrize("task", [waits, waits_plain])
def test_a_signal_wakes_a_task(hf: Holdfast, site: Site, task: Any) -> None:
    handle = hf.enqueue(task.call(2))
    drain(hf)
    status = handle.status()
    assert (status.suspended, status.waits_for, status.due_at) == ("waiting", "go", None)
    handle.signal("other", 1)
    drain(hf)
    assert ran == ["waits"]  # it was not woken by another signal
    handle.signal("go", {"by": "ann"})
    assert state(handle) == "queued"
    drain(hf)
    hf.queue(QUEUE).handle(handle.task_id).signal("go")
    drain(hf)
    assert handle.result(timeout=0) == [{"by": "ann"}, None]
    assert stored(site) == 0


@pytest.mark.parametrize("task", [waits, waits_plain])
def test_signals_before_the_wait_are_taken_in_order(hf: Holdfast, task: Any) -> None:
    handle = hf.enqueue(task.call(3))
    for value in range(3):
        handle.signal("go", value)
    assert list((handle.steps()).signals) == ["go"] * 3
    drain(hf)
    assert handle.result(timeout=0) == [0, 1, 2]
    assert ran == ["waits"] * 3


@pytest.mark.parametrize("task", [waits, waits_plain])
def test_a_wait_that_timed_out_stays_so(hf: Holdfast, task: Any) -> None:
    handle = hf.enqueue(task.call(2, 60.0))
    drain(hf)
    advance(hf, 61)
    assert (handle.status()).suspended == "waiting"
    handle.signal("go", "for the second")
    drain(hf)
    assert handle.result(timeout=0) == ["late", "for the second"]


def test_a_signal_that_comes_too_late_is_for_the_next_wait(hf: Holdfast) -> None:
    handle = hf.enqueue(waits.call(2, 60.0))
    drain(hf)
    sleepers = hf._resources.sleepers()
    sleepers.look([QUEUE], 0.0)
    sleepers.wake_first()
    time.sleep(0.01)
    handle.signal("go", "for the second")
    drain(hf)
    assert handle.result(timeout=0) == ["late", "for the second"]


def test_a_wait_with_no_time_takes_what_is_there(hf: Holdfast) -> None:
    handle = hf.enqueue(waits.call(2, 0.0))
    handle.signal("go", 1)
    drain(hf)
    assert handle.result(timeout=0) == [1, "late"]


def test_a_worker_until_idle_does_not_wait_for_signals(hf: Holdfast) -> None:
    handle = hf.enqueue(waits.call())
    hf.worker(tasks).run(until_idle=True)
    assert (handle.status()).suspended == "waiting"


def test_a_running_worker_receives_a_signal(hf: Holdfast) -> None:
    handle = hf.enqueue(waits.call())

    with running(hf.worker(tasks)):
        eventually(lambda: ran == ["waits"])
        handle.signal("go", 3)
        assert handle.result(timeout=30) == [3]


def test_a_signal_to_an_ended_task_is_refused(hf: Holdfast) -> None:
    done, dead = hf.enqueue(three.call()), hf.enqueue(dies.call())
    cancelled = hf.enqueue(three.call().options(delay=60.0))
    drain(hf)
    cancelled.cancel()
    unknown = hf.queue(QUEUE).handle("nobody")
    handles = {"done": done, "dead": dead, "cancelled": cancelled, "unknown": unknown}
    for expected, handle in handles.items():
        with pytest.raises(SignalRefused) as refused:
            handle.signal("go")
        assert refused.value.state == expected


def test_signals_of_a_task_are_bounded(hf: Holdfast, site: Site) -> None:
    handle = hf.enqueue(waits.call())
    for value in range(100):
        handle.signal("go", value)
    with pytest.raises(SignalRefused, match="100 signals"):
        handle.signal("go")
    with pytest.raises(ValueError, match="65,536"):
        handle.signal("go", "x" * 2**16)
    with pytest.raises(TypeError, match="signal 'go' cannot be stored"):
        handle.signal("go", object())
    assert handle.cancel()
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
def test_misuse_is_refused(hf: Holdfast, how: str, reason: str) -> None:
    handle = hf.enqueue(misuses.call(how))
    drain(hf)
    with pytest.raises(TaskFailed, match=reason):
        handle.result(timeout=0)
    attempts = 1 if "refused" in (handle.status()).reason else 2
    assert (handle.status()).attempts == attempts


@pytest.mark.parametrize("task", [no_json, no_json_plain])
def test_a_result_that_is_no_json_loses_no_step(hf: Holdfast, task: Any) -> None:
    """The task is dead at once, and a replay continues with that step once the code is repaired."""
    failing.add("second")
    handle = hf.enqueue(task.call())
    drain(hf)
    status = handle.status()
    assert (status.state, status.attempts) == ("dead", 1)
    assert status.reason.startswith("refused: the result of step 'second' of task")
    assert "cannot be stored: Encoding objects of type object is unsupported" in status.reason
    assert [(step.name, step.state) for step in handle.steps()] == [("first", "done")]
    failing.clear()
    hf.queue(QUEUE).replay([handle.task_id])
    drain(hf)
    assert handle.result(timeout=0) == [f"{handle.task_id}/first", 7]
    assert ran == ["first"]


def test_a_task_that_swallows_its_suspension_sleeps_nevertheless(hf: Holdfast) -> None:
    handle = hf.enqueue(misuses.call("swallows"))
    drain(hf)
    assert (handle.status()).suspended == "sleeping"
    advance(hf, 61)
    assert handle.result(timeout=0) is None
    assert ran == ["swallowed"]


def test_a_cpu_task_has_no_steps(hf: Holdfast) -> None:
    handle = hf.enqueue(on_a_core.call())
    hf.worker(cpu_tasks).run(until_idle=True)
    with pytest.raises(TaskFailed, match="has cpu=True"):
        handle.result(timeout=0)


def test_a_sleeping_task_holds_no_concurrency(hf: Holdfast) -> None:
    hf.enqueue(one_per_customer.call("ann", 60))
    drain(hf)
    hf.enqueue(one_per_customer.call("ann", 0))
    drain(hf)
    assert ran == ["starts 60", "starts 0", "ends 0"]
    advance(hf, 61)
    assert ran[3:] == ["starts 60", "ends 60"]


def test_a_unique_task_that_waits_is_not_replaced(hf: Holdfast) -> None:
    handle = hf.enqueue(only_one.call(1))
    drain(hf)
    again = hf.enqueue(only_one.call(2))
    assert (again.task_id, again.enqueued) == (handle.task_id, "existing")
    again.signal("go")
    drain(hf)
    assert handle.result(timeout=0) == 1


def test_cancel_purge_and_pause_while_tasks_sleep(hf: Holdfast, site: Site) -> None:
    queue = hf.queue(QUEUE)
    handles = [hf.enqueue(sleeps.call(FAR)) for _ in range(20)]
    waiting = hf.enqueue(waits.call())
    drain(hf)
    assert handles[0].cancel()
    assert state(handles[0]) == "cancelled"
    queue.pause()
    waiting.signal("go")
    hf.worker(tasks).run(until_idle=True)
    assert state(waiting) == "queued"  # it is woken, and the queue is paused
    queue.resume()
    drain(hf)
    assert waiting.result(timeout=0) == [None]
    assert queue.purge() == 19
    assert stored(site) == 0
    assert state(handles[1]) == "unknown"


def test_a_task_that_began_in_time_does_not_expire_asleep(hf: Holdfast) -> None:
    handle = hf.enqueue(sleeps.call(FAR).options(expires=1.0))
    drain(hf)
    time.sleep(1.0)
    advance(hf, FAR + 1)
    assert handle.result(timeout=0) == 1


def test_a_dead_task_keeps_its_steps_until_it_is_purged(hf: Holdfast, site: Site) -> None:
    handle, other = hf.enqueue(dies.call()), hf.enqueue(dies.call())
    drain(hf)
    ran.append("fixed")
    hf.queue(QUEUE).replay([handle.task_id])
    drain(hf)
    assert handle.result(timeout=0) == f"{handle.task_id}/second"
    assert ran.count("first") == 2  # once in each task
    assert len(other.steps()) == 1
    assert hf.queue(QUEUE).purge(dead=True) == 1
    assert stored(site) == 0


@pytest.mark.parametrize("names", [["a", "x"], ["a"], [], ["b", "a", "c"]])
def test_changed_steps_are_detected(hf: Holdfast, names: list[str]) -> None:
    old = changed(["a", "b", "fail"])
    handle = hf.enqueue(old.get("evolves").call())
    drain(hf, old)
    ran.clear()
    hf.queue(QUEUE).replay()
    drain(hf, changed(names))
    status = handle.status()
    assert (status.state, status.attempts) == ("dead", 2)
    asked = ", ".join(f"step {name}" for name in names if name != "c") or "asked for nothing"
    assert "stored step a, step b" in status.reason
    assert asked.partition(", step a")[0] in status.reason
    assert ran == []
    hf.queue(QUEUE).replay()
    drain(hf, changed(["a", "b", "new"]))
    assert handle.result(timeout=0) == "done"
    assert ran == ["new"]


def test_two_workers_may_have_other_code(hf: Holdfast) -> None:
    """During a deploy, an attempt of the old code fails, and the new code goes on."""
    new = changed(["a", "b", "fail"])
    handle = hf.enqueue(new.get("evolves").call())
    drain(hf, new)
    hf.queue(QUEUE).replay()
    old = hf.worker(changed(["z"]), concurrency=1)
    assert not old.run(until_idle=True)
    assert "asks for other steps" in (handle.status()).reason


def test_the_audit_finds_nothing_wrong(hf: Holdfast) -> None:
    for call in (sleeps.call(FAR), waits.call(), dies.call()):
        handle = hf.enqueue(call)
        drain(hf)
        if state(handle) != "dead":
            handle.signal("other", [1])
    assert (hf.audit()).damages == ()
