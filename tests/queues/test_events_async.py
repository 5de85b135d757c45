"""A task reports events, and readers get them in order, whenever they come."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from conftest import Site
from holdfast import (
    AsyncHoldfast,
    AsyncTaskHandle,
    Gap,
    Progress,
    PrometheusMetrics,
    TaskEvent,
    TaskFailed,
)
from holdfast.testing.background_worker import AsyncBackgroundWorker
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
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    go_on.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def drain(hf: AsyncHoldfast) -> None:
    await hf.worker(tasks).run(until_idle=True)


async def read(handle: AsyncTaskHandle[Any], **options: Any) -> list[TaskEvent | Gap]:
    return [event async for event in handle.events(**{"timeout": 60.0, **options})]


def life_s(site: Site, task_id: str) -> int:
    """Return the seconds for which the events of a task are kept; -2: there are none."""
    return site.client.ttl(f"{site.namespace}:{{queue:events}}:events:{task_id}")


async def test_a_reader_gets_all_events_in_order(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(renders.call(3))
    await drain(hf)
    events = await read(handle)
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
    assert [event.number for event in await read(handle, after=4)] == [5, 6]
    assert await read(handle, after=6) == []


async def test_a_reader_waits_for_events_and_for_the_end(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(waits.call())
    async with AsyncBackgroundWorker(hf.worker(tasks)):
        seen = []
        async for event in handle.events(timeout=60):
            seen.append(event.data)
            go_on.set()
    assert seen == ["began", "went on"]


async def test_a_reader_is_notified_of_the_end_of_a_silent_task(
    hf: AsyncHoldfast, site: Site
) -> None:
    handle = await hf.enqueue(is_silent.call())
    events = handle.events(timeout=60)
    assert await read(handle, timeout=0.05) == []  # from now on it is followed
    async with AsyncBackgroundWorker(hf.worker(tasks)):
        assert [event async for event in events] == []
    assert not site.client.exists(f"{site.namespace}:{{queue:events}}:progress")


async def test_an_unknown_task_has_no_events(hf: AsyncHoldfast, site: Site) -> None:
    assert await read(hf.queue("events").handle("unheard-of")) == []
    assert not site.client.exists(f"{site.namespace}:{{queue:events}}:progress")


async def test_a_reader_ahead_of_the_task_gets_a_reset(hf: AsyncHoldfast) -> None:
    """The server lost data, or another task had the id: it goes on with what there is."""
    handle = await hf.enqueue(counts.call(3))
    assert await read(handle, after=2, timeout=0) == [Gap(1, 2, "reset")]
    async with AsyncBackgroundWorker(hf.worker(tasks)):
        gap, *events = await read(handle, after=7)
    assert gap == Gap(1, 7, "reset")
    assert gap.resume_after == 0
    assert [event.number for event in events] == [1, 2, 3]
    assert await read(handle, after=3) == []
    assert await read(handle, after=5) == [Gap(4, 5, "reset")]


async def test_the_newest_thousand_are_kept(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(counts.call(2500))
    await drain(hf)
    gap, *events = await read(handle)
    assert gap == Gap(1, 1500, "dropped")
    assert gap.resume_after == 1500
    assert [event.data for event in events] == list(range(1500, 2500))
    gap, first, *_ = await read(handle, after=1000)
    assert (gap, first.number) == (Gap(1001, 1500, "dropped"), 1501)


async def test_a_mebibyte_is_kept(hf: AsyncHoldfast, site: Site) -> None:
    handle = await hf.enqueue(fills.call(30, 60_000))
    await drain(hf)
    gap, *events = await read(handle)
    assert [event.number for event in events] == list(range(gap.last + 1, 31))
    stored = site.client.lrange(f"{site.namespace}:{{queue:events}}:events:{handle.task_id}", 0, 99)
    assert (1 << 20) - 61_000 < sum(map(len, stored)) <= 1 << 20


async def test_numbers_go_on_over_attempts_and_replays(hf: AsyncHoldfast, site: Site) -> None:
    handle = await hf.enqueue(fails.call("no"))
    await drain(hf)
    status = await handle.status()
    assert (status.state, status.progress.message, status.progress.fraction) == ("dead", "no", 0.5)
    assert [(event.number, event.attempt) for event in await read(handle)] == [
        *((1, 1), (2, 1), (3, 2), (4, 2)),
    ]
    assert WEEK_S - 300 < life_s(site, handle.task_id) <= WEEK_S
    await hf.queue("events").replay()
    await drain(hf)
    assert [event.number for event in await read(handle, after=4)] == [5, 6, 7, 8]
    assert await hf.queue("events").purge(dead=True) == 1
    assert life_s(site, handle.task_id) == -2
    assert await read(handle) == []


async def test_events_are_kept_as_long_as_the_result(hf: AsyncHoldfast, site: Site) -> None:
    kept, forgotten = await hf.enqueue_many([counts.call(1), forgets.call(1)])
    await drain(hf)
    assert 200 < life_s(site, kept.task_id) <= 300
    assert 0 < life_s(site, forgotten.task_id) <= 60
    assert [event.data for event in await read(forgotten)] == [1]
    assert (await kept.status()).progress is None


async def test_events_of_an_earlier_attempt_end_with_the_result(
    hf: AsyncHoldfast, site: Site
) -> None:
    """The worker of the last attempt, which reports nothing, has not sent them."""
    handle = await hf.enqueue(reports_at_first.call())
    for _ in range(2):
        await drain(hf)
    assert (await handle.status()).attempts == 2
    assert [event.data for event in await read(handle)] == ["first"]
    assert 200 < life_s(site, handle.task_id) <= 300


async def test_events_are_counted(site: Site) -> None:
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    url, namespace = site.url, site.namespace
    async with AsyncHoldfast.from_url(url, namespace=namespace, telemetry=metrics) as hf:
        await hf.enqueue(counts.call(3))
        await drain(hf)
    labels = {"queue": "events", "result": "stored"}
    assert registry.get_sample_value("holdfast_task_events_total", labels) == 3


async def test_events_of_a_cancelled_task_are_kept_for_a_while(
    hf: AsyncHoldfast, site: Site
) -> None:
    handle = await hf.enqueue(waits.call())
    async with AsyncBackgroundWorker(hf.worker(tasks)):
        async for event in handle.events(timeout=60):
            assert event.data == "began"
            assert await handle.cancel()
            go_on.set()
    assert 500 < life_s(site, handle.task_id) <= 600
    assert [event.data for event in await read(handle)] == ["began"]


async def test_a_later_task_of_the_same_id_begins_with_no_events(hf: AsyncHoldfast) -> None:
    call = counts.call(3).options(task_id="same")
    await hf.enqueue(call)
    await drain(hf)
    handle = await hf.enqueue(call)
    assert await read(handle, timeout=0) == []
    await drain(hf)
    assert [event.number for event in await read(handle)] == [1, 2, 3]


@pytest.mark.parametrize("task", [reports_what_is_invalid, reports_what_is_invalid_plain])
async def test_what_is_invalid_is_refused_and_loses_nothing(hf: AsyncHoldfast, task: Any) -> None:
    handle = await hf.enqueue(task.call())
    await drain(hf)
    refused = await handle.result(timeout=60)
    assert "accepted" not in refused
    assert refused[2] == (
        f"PayloadTooLarge: an event of task {task.name!r} takes 70,002 bytes, the limit is 65,536; "
        "store the data elsewhere and send a reference"
    )
    assert refused[3] == "ValueError: done must be at most the total, 1, got 2"
    assert refused[4] == "ValueError: done must be 0 or more and finite, got nan"
    assert refused[7] == "ValueError: total must be 0 or more and finite, got a huge int"
    assert [event.data for event in await read(handle)] == ["first", "last"]


async def test_a_task_that_reports_too_much_keeps_what_it_reported(hf: AsyncHoldfast) -> None:
    largest = "x" * (2**16 - 2)
    handle = await hf.enqueue(fails_at_an_event.call(largest + "x"))
    accepted = await hf.enqueue(fails_at_an_event.call(largest))
    await drain(hf)
    with pytest.raises(TaskFailed, match="an event of task 'fails_at_an_event' takes 65,537 "):
        await handle.result(timeout=60)
    assert [event.data for event in await read(handle)] == ["first"]
    assert await accepted.result(timeout=60) is None
    assert [event.data for event in await read(accepted)] == ["first", largest]


async def test_an_attempt_that_has_ended_reports_nothing(hf: AsyncHoldfast) -> None:
    event_tasks.running.clear()
    await hf.enqueue(is_kept.call())
    await drain(hf)
    [task] = event_tasks.running
    with pytest.raises(RuntimeError, match="this attempt has ended"):
        task.emit("late")


async def test_the_progress_of_running_tasks_is_listed(hf: AsyncHoldfast) -> None:
    handle = await hf.enqueue(fails.call("half"))
    await drain(hf)
    [dead] = await hf.queue("events").dead()
    assert dead.progress == (await handle.status()).progress
    assert dead.progress.at is not None


async def test_arguments_of_a_reader_are_checked(hf: AsyncHoldfast) -> None:
    handle = hf.queue("events").handle("any")
    with pytest.raises(ValueError, match="after"):
        handle.events(after=-1)
    with pytest.raises(TypeError, match="after"):
        handle.events(after="1")
