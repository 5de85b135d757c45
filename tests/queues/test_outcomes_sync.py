# Generated from test_outcomes_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Outcomes by exception, options of calls and headers, with real workers."""

import logging
import time
from collections.abc import Iterator

import pytest

from conftest import Site
from holdfast import Call, Holdfast, Retry, TaskFailed, TaskRegistry
from queues.outcome_tasks import (
    add_request,
    asks_for_time,
    describes_itself,
    fails,
    fails_in_a_group,
    gives_up,
    gives_up_in_a_thread,
    ran,
    snoozes,
    tasks,
)


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    ran.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def drain(hf: Holdfast, registry: TaskRegistry = tasks) -> None:
    """Run everything that is there."""
    hf.worker(registry).run(until_idle=True)


def outcomes(hf: Holdfast) -> dict[str, int]:
    """Return what the queue counted, without zeros."""
    minutes = hf.queue("ends").throughput(2)
    names = ("done", "retried", "dead", "snoozed", "gave_up")
    found = {name: sum(getattr(each, name) for each in minutes) for name in names}
    return {name: count for name, count in found.items() if count}


def test_a_task_that_gives_up_is_dead_at_once(hf: Holdfast) -> None:
    handles = [hf.enqueue(task.call()) for task in (gives_up, gives_up_in_a_thread)]
    drain(hf)
    for handle in handles:
        status = handle.status()
        assert (status.state, status.attempts) == ("dead", 1)
        with pytest.raises(TaskFailed, match="gave-up: no such address"):
            handle.result(timeout=0)
    assert outcomes(hf) == {"gave_up": 2}
    assert hf.queue("ends").replay() == 2
    drain(hf)
    assert len(ran) == 4


def test_a_task_group_that_gives_up_is_dead_at_once(hf: Holdfast) -> None:
    handle = hf.enqueue(fails_in_a_group.call())
    drain(hf)
    assert (handle.status()).reason == "gave-up: gone"
    assert outcomes(hf) == {"gave_up": 1}


def test_a_task_chooses_when_its_next_attempt_starts(hf: Holdfast) -> None:
    handle = hf.enqueue(asks_for_time.call(0.3))
    started = time.monotonic()
    drain(hf)
    assert handle.result(timeout=0) == 3
    assert time.monotonic() - started >= 0.6
    assert outcomes(hf) == {"done": 1, "retried": 2}


def test_a_task_that_asks_for_time_still_has_its_attempts_only(hf: Holdfast) -> None:
    handle = hf.enqueue(asks_for_time.call(0).options(retry=Retry(attempts=2)))
    drain(hf)
    status = handle.status()
    assert (status.state, status.attempts) == ("dead", 2)
    assert status.reason == "failed: RetryAfter: the next attempt starts in 0 s"
    assert outcomes(hf) == {"retried": 1, "dead": 1}


def test_a_snooze_is_no_attempt(hf: Holdfast) -> None:
    handle = hf.enqueue(snoozes.call(5, 0.01))
    drain(hf)
    assert handle.result(timeout=0) == 1
    assert [(task.attempt, task.snoozes) for task in ran] == [(1, n) for n in range(6)]
    assert outcomes(hf) == {"done": 1, "snoozed": 5}


def test_snoozes_are_limited_and_survive_their_workers(hf: Holdfast) -> None:
    handle = hf.enqueue(snoozes.call(99, 0.01))
    for _ in range(5):
        worker = hf.worker(tasks)
        worker.run(until_idle=True)
    status = handle.status()
    assert (status.state, status.attempts, status.snoozes) == ("dead", 1, 5)
    assert status.reason == "snoozed: the limit of 5 is reached: not yet"
    assert outcomes(hf) == {"snoozed": 5, "dead": 1}
    hf.queue("ends").replay()
    assert (handle.status()).snoozes == 0


def test_some_exceptions_are_not_retried(hf: Holdfast) -> None:
    """A timeout of the attempt is a `TimeoutError`, and an `OSError` is retried."""
    calls = [fails.call("value"), fails.call("slow").options(timeout=0.05), fails.call("off")]
    handles = hf.enqueue_many(calls)
    drain(hf)
    found = [handle.status() for handle in handles]
    assert [each.attempts for each in found] == [1, 1, 3]
    assert [each.reason.split(": ")[1] for each in found] == [
        "ValueError",
        "TimeoutError",
        "OSError",
    ]
    assert outcomes(hf) == {"retried": 2, "dead": 3}


def test_outcomes_have_levels_of_their_own(hf: Holdfast, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "holdfast.worker")
    calls: list[Call[object]] = [snoozes.call(1, 0), gives_up.call(), asks_for_time.call(0)]
    hf.enqueue_many(calls)
    drain(hf)
    found = {
        (record.holdfast_outcome, record.levelname, record.exc_info is None)
        for record in caplog.records
        if hasattr(record, "holdfast_outcome")
    }
    assert found == {
        ("done", "INFO", True),
        ("snooze", "INFO", True),
        ("retry", "WARNING", True),
        ("give_up", "WARNING", True),
    }


# Options of a call


def test_a_call_has_options_in_place_of_those_of_its_task(hf: Holdfast) -> None:
    call = fails.call("off").options(
        queue="elsewhere", retry=Retry(attempts=2, delays=(0,)), priority="high"
    )
    handle = hf.enqueue(call)
    hf.worker(tasks, queues={"elsewhere": 1}).run(until_idle=True)
    status = handle.status()
    assert (status.state, status.attempts, status.priority) == ("dead", 2, "high")
    assert {task.queue for task in ran} == {"elsewhere"}


def test_what_the_task_never_retries_a_call_does_not_either(hf: Holdfast) -> None:
    handle = hf.enqueue(fails.call("value").options(retry=Retry(attempts=9)))
    drain(hf)
    assert (handle.status()).attempts == 1


# Headers


def test_headers_accompany_a_task_through_retries_and_replays(hf: Holdfast) -> None:
    handle = hf.enqueue(fails.call("off").options(headers={"tenant": "acme"}))
    assert (handle.status()).headers == {"tenant": "acme"}
    [queued] = hf.queue("ends").tasks("queued")
    assert queued.headers == {"tenant": "acme"}
    drain(hf)
    [dead] = hf.queue("ends").dead()
    assert dead.headers == {"tenant": "acme"}
    hf.queue("ends").replay()
    drain(hf)
    assert [task.headers for task in ran] == [{"tenant": "acme"}] * 6


def test_hooks_see_each_call_that_is_enqueued(hf: Holdfast) -> None:
    hooks = tasks.get("describes_itself").hooks
    tasks.on_enqueue(add_request)
    try:
        hf.enqueue(describes_itself.call().options(headers={"tenant": "acme"}))
        hf.enqueue_many([describes_itself.call(), describes_itself.call()])
    finally:
        hooks.clear()  # type: ignore[attr-defined]
    hf.enqueue(describes_itself.call())
    drain(hf)
    assert [task.headers for task in ran] == [
        {"tenant": "acme", "request": "r-17"},
        {"request": "r-17"},
        {"request": "r-17"},
        {},
    ]
