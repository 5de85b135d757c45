# Generated from test_events_async.py by tools/unasync.py: edit that, then run `make sync`.
"""A task reports events, and readers get them in order, whenever they come."""

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from conftest import Site
from holdfast import (
    Gap,
    Holdfast,
    Progress,
    PrometheusMetrics,
    TaskEvent,
    TaskFailed,
    TaskHandle,
)
from holdfast.testing.background_worker import BackgroundWorker
from queues import event_tasks
from queues.event_tasks import (
    counts,
    fails,
    fails_at_an_event,
    fills,
    forgets,
    go_on,
    is_kept,
    is_silent,
    renders,
    reports_at_first,
    reports_what_is_invalid,
    reports_what_is_invalid_plain,
    tasks,
    waits,
)

WEEK_S = 7 * 86400


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    go_on.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def drain(hf: Holdfast) -> None:
    hf.worker(tasks).run(until_idle=True)


def read(handle: TaskHandle[Any], **options: Any) -> list[TaskEvent | Gap]:
    return [event for event in handle.events(**{"timeout": 60.0, **options})]


def life_s(site: Site, task_id: str) -> int:
    """Return the seconds for which the events of a task are kept; -2: there are none."""
    return site.client.ttl(f"{site.namespace}:{{queue:events}}:events:{task_id}")


def test_a_reader_gets_all_events_in_order(hf: Holdfast) -> None:
    handle = hf.enqueue(renders.call(3))
    drain(hf)
    events = read(handle)
    assert [(event.number, event.kind, event.attempt) for event in events] == [
        *((1, "progress", 1), (2, "event", 1), (3, "progress", 1)),
        *((4, "event", 1), (5, "progress", 1), (6, "event", 1)),
    ]
    assert [event.data for event in events[:2]] == [
        {"done": 1, "total": 3, "message": "rendering"},
        {"page": 1},
    ]
    assert events[0].progress == Progress(1, 3, "rendering")
    assert events[4].progress.fraction == 1.0
    assert events[1].progress is None
    assert [event.number for event in read(handle, after=4)] == [5, 6]
    assert read(handle, after=6) == []


def test_a_reader_waits_for_events_and_for_the_end(hf: Holdfast) -> None:
    handle = hf.enqueue(waits.call())
    with BackgroundWorker(hf.worker(tasks)):
        seen = []
        for event in handle.events(timeout=60):
            seen.append(event.data)
            go_on.set()
    assert seen == ["began", "went on"]


def test_a_reader_is_notified_of_the_end_of_a_silent_task(hf: Holdfast, site: Site) -> None:
    handle = hf.enqueue(is_silent.call())
    events = handle.events(timeout=60)
    assert read(handle, timeout=0.05) == []  # from now on it is followed
    with BackgroundWorker(hf.worker(tasks)):
        assert [event for event in events] == []
    assert not site.client.exists(f"{site.namespace}:{{queue:events}}:progress")


def test_an_unknown_task_has_no_events(hf: Holdfast, site: Site) -> None:
    assert read(hf.queue("events").handle("unheard-of")) == []
    assert not site.client.exists(f"{site.namespace}:{{queue:events}}:progress")


def test_a_reader_ahead_of_the_task_gets_a_reset(hf: Holdfast) -> None:
    """The server lost data, or another task had the id: it goes on with what there is."""
    handle = hf.enqueue(counts.call(3))
    assert read(handle, after=2, timeout=0) == [Gap(1, 2, "reset")]
    with BackgroundWorker(hf.worker(tasks)):
        gap, *events = read(handle, after=7)
    assert gap == Gap(1, 7, "reset")
    assert gap.resume_after == 0
    assert [event.number for event in events] == [1, 2, 3]
    assert read(handle, after=3) == []
    assert read(handle, after=5) == [Gap(4, 5, "reset")]


def test_the_newest_thousand_are_kept(hf: Holdfast) -> None:
    handle = hf.enqueue(counts.call(2500))
    drain(hf)
    gap, *events = read(handle)
    assert gap == Gap(1, 1500, "dropped")
    assert gap.resume_after == 1500
    assert [event.data for event in events] == list(range(1500, 2500))
    gap, first, *_ = read(handle, after=1000)
    assert (gap, first.number) == (Gap(1001, 1500, "dropped"), 1501)


def test_a_mebibyte_is_kept(hf: Holdfast, site: Site) -> None:
    handle = hf.enqueue(fills.call(30, 60_000))
    drain(hf)
    gap, *events = read(handle)
    assert [event.number for event in events] == list(range(gap.last + 1, 31))
    stored = site.client.lrange(f"{site.namespace}:{{queue:events}}:events:{handle.task_id}", 0, 99)
    assert (1 << 20) - 61_000 < sum(map(len, stored)) <= 1 << 20


def test_numbers_go_on_over_attempts_and_replays(hf: Holdfast, site: Site) -> None:
    handle = hf.enqueue(fails.call("no"))
    drain(hf)
    status = handle.status()
    assert (status.state, status.progress.message, status.progress.fraction) == ("dead", "no", 0.5)
    assert [(event.number, event.attempt) for event in read(handle)] == [
        *((1, 1), (2, 1), (3, 2), (4, 2)),
    ]
    assert WEEK_S - 300 < life_s(site, handle.task_id) <= WEEK_S
    hf.queue("events").replay()
    drain(hf)
    assert [event.number for event in read(handle, after=4)] == [5, 6, 7, 8]
    assert hf.queue("events").purge(dead=True) == 1
    assert life_s(site, handle.task_id) == -2
    assert read(handle) == []


def test_events_are_kept_as_long_as_the_result(hf: Holdfast, site: Site) -> None:
    kept, forgotten = hf.enqueue_many([counts.call(1), forgets.call(1)])
    drain(hf)
    assert 200 < life_s(site, kept.task_id) <= 300
    assert 0 < life_s(site, forgotten.task_id) <= 60
    assert [event.data for event in read(forgotten)] == [1]
    assert (kept.status()).progress is None


def test_events_of_an_earlier_attempt_end_with_the_result(hf: Holdfast, site: Site) -> None:
    """The worker of the last attempt, which reports nothing, has not sent them."""
    handle = hf.enqueue(reports_at_first.call())
    for _ in range(2):
        drain(hf)
    assert (handle.status()).attempts == 2
    assert [event.data for event in read(handle)] == ["first"]
    assert 200 < life_s(site, handle.task_id) <= 300


def test_events_are_counted(site: Site) -> None:
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    url, namespace = site.url, site.namespace
    with Holdfast.from_url(url, namespace=namespace, telemetry=metrics) as hf:
        hf.enqueue(counts.call(3))
        drain(hf)
    labels = {"queue": "events", "result": "stored"}
    assert registry.get_sample_value("holdfast_task_events_total", labels) == 3


def test_events_of_a_cancelled_task_are_kept_for_a_while(hf: Holdfast, site: Site) -> None:
    handle = hf.enqueue(waits.call())
    with BackgroundWorker(hf.worker(tasks)):
        for event in handle.events(timeout=60):
            assert event.data == "began"
            assert handle.cancel()
            go_on.set()
    assert 500 < life_s(site, handle.task_id) <= 600
    assert [event.data for event in read(handle)] == ["began"]


def test_a_later_task_of_the_same_id_begins_with_no_events(hf: Holdfast) -> None:
    call = counts.call(3).options(task_id="same")
    hf.enqueue(call)
    drain(hf)
    handle = hf.enqueue(call)
    assert read(handle, timeout=0) == []
    drain(hf)
    assert [event.number for event in read(handle)] == [1, 2, 3]


@pytest.mark.parametrize("task", [reports_what_is_invalid, reports_what_is_invalid_plain])
def test_what_is_invalid_is_refused_and_loses_nothing(hf: Holdfast, task: Any) -> None:
    handle = hf.enqueue(task.call())
    drain(hf)
    refused = handle.result(timeout=60)
    assert "accepted" not in refused
    assert refused[2] == (
        f"PayloadTooLarge: an event of task {task.name!r} takes 70,002 bytes, the limit is 65,536; "
        "store the data elsewhere and send a reference"
    )
    assert refused[3] == "ValueError: done must be at most the total, 1, got 2"
    assert refused[4] == "ValueError: done must be 0 or more and finite, got nan"
    assert refused[7] == "ValueError: total must be 0 or more and finite, got a huge int"
    assert [event.data for event in read(handle)] == ["first", "last"]


def test_a_task_that_reports_too_much_keeps_what_it_reported(hf: Holdfast) -> None:
    largest = "x" * (2**16 - 2)
    handle = hf.enqueue(fails_at_an_event.call(largest + "x"))
    accepted = hf.enqueue(fails_at_an_event.call(largest))
    drain(hf)
    with pytest.raises(TaskFailed, match="an event of task 'fails_at_an_event' takes 65,537 "):
        handle.result(timeout=60)
    assert [event.data for event in read(handle)] == ["first"]
    assert accepted.result(timeout=60) is None
    assert [event.data for event in read(accepted)] == ["first", largest]


def test_an_attempt_that_has_ended_reports_nothing(hf: Holdfast) -> None:
    event_tasks.running.clear()
    hf.enqueue(is_kept.call())
    drain(hf)
    [task] = event_tasks.running
    with pytest.raises(RuntimeError, match="this attempt has ended"):
        task.emit("late")


def test_the_progress_of_running_tasks_is_listed(hf: Holdfast) -> None:
    handle = hf.enqueue(fails.call("half"))
    drain(hf)
    [dead] = hf.queue("events").dead()
    assert dead.progress == (handle.status()).progress
    assert dead.progress.at is not None


def test_arguments_of_a_reader_are_checked(hf: Holdfast) -> None:
    handle = hf.queue("events").handle("any")
    with pytest.raises(ValueError, match="after"):
        handle.events(after=-1)
    with pytest.raises(TypeError, match="after"):
        handle.events(after="1")
