"""Schedules on a real server: what is stored, fired, skipped and refused."""

import logging
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    Cron,
    Every,
    InvalidName,
    NoSuchSchedule,
    Once,
    Schedule,
    ScheduleExists,
    TaskRegistry,
)
from holdfast.core.concurrency._async.primitives import sleep
from holdfast.queues import keys
from holdfast.queues.worker import scheduler
from queues.schedule.scheduled_tasks import ran, report, running_async, tasks

FAR = Once(4_000_000_000)


@pytest.fixture
async def hf(site: Site) -> AsyncIterator[AsyncHoldfast]:
    ran.clear()
    async with AsyncHoldfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


async def drain(hf: AsyncHoldfast, registry: TaskRegistry = tasks) -> None:
    """Fire what is due, and run everything that is there."""
    await hf.worker(registry).run(until_idle=True)


async def make_due(hf: AsyncHoldfast, site: Site, name: str, occurrences: int = 1) -> int:
    """Put the next instant of a schedule back by some occurrences; return it in ms."""
    (status,) = [each for each in await hf.schedules() if each.name == name]
    assert status.next_at is not None
    next_ms = round(status.next_at.timestamp() * 1000)
    due_ms = status.timing.back_from(next_ms, occurrences)
    unit = hf._resources.namespace.unit(keys.KIND, "reports")
    site.client.zadd(keys.schedule_times(unit), {name: due_ms})
    return due_ms


async def test_an_occurrence_is_enqueued_once(hf: AsyncHoldfast, site: Site) -> None:
    handle = await hf.schedule("daily", report.call("x"), Cron("0 3 * * *", "Europe/Berlin"))
    await drain(hf)
    assert ran == []
    due_ms = await make_due(hf, site, "daily")
    await drain(hf)
    await drain(hf)
    assert ran == [(f"daily@{due_ms}", "x")]
    status = await handle.status()
    assert (status.fired, status.missed, status.skipped) == (1, 0, 0)
    assert status.last_task_id == f"daily@{due_ms}"
    assert status.last_at == datetime.fromtimestamp(due_ms / 1000, UTC)
    first, second = await handle.next(2)
    assert first == status.next_at
    assert timedelta(hours=23) <= second - first <= timedelta(hours=25)


async def test_a_worker_fires_what_becomes_due(hf: AsyncHoldfast) -> None:
    await hf.schedule("soon", report.call(1), Every(1))
    async with running_async(hf.worker(tasks)):
        await eventually_async(lambda: len(ran) >= 2)
    first, second = (int(task_id.removeprefix("soon@")) for task_id, _ in ran[:2])
    assert second - first == 1000


@pytest.mark.parametrize(
    ("missed", "fired", "lost"), [("once", 1, 5), ("all", 6, 0), ("skip", 0, 6)]
)
async def test_after_an_outage(
    hf: AsyncHoldfast, site: Site, missed: Any, fired: int, lost: int
) -> None:
    """Five minutes and a half without a worker: six occurrences, the last one 90 s late."""
    timing = Every(60, phase=(time.time() - 90) % 60)
    handle = await hf.schedule("s", report.call(), timing, missed=missed)
    unit = hf._resources.namespace.unit(keys.KIND, "reports")
    last_ms = timing.next_after(int((time.time() - 100) * 1000))
    assert last_ms is not None
    if missed == "skip":  # the last one must be more than a minute late
        timing = Every(3600, phase=(time.time() - 90) % 3600)
        handle = await hf.schedule("s", report.call(), timing, missed=missed)
        last_ms = timing.next_after(int((time.time() - 100) * 1000))
        assert last_ms is not None
        fired, lost = 0, 6
        first_ms = last_ms - 5 * 3_600_000
    else:
        first_ms = timing.last_until(int(time.time() * 1000), last_ms)[0] - 5 * 60_000
    site.client.zadd(keys.schedule_times(unit), {"s": first_ms})
    await drain(hf)
    status = await handle.status()
    assert (status.fired, status.missed, len(ran)) == (fired, lost, fired)
    assert len({task_id for task_id, _ in ran}) == fired


async def test_an_overlap_is_skipped(hf: AsyncHoldfast) -> None:
    handle = await hf.schedule("s", report.call(), Every(1), overlap="skip")
    await hf.queue("reports").pause()
    for _ in range(2):
        await sleep(1.1)
        await drain(hf)
    status = await handle.status()
    assert status.fired == 1
    assert status.skipped >= 1
    assert (await hf.queue("reports").stats()).ready == 1
    await hf.queue("reports").resume()
    await drain(hf)
    await sleep(1.1)
    await drain(hf)
    assert (await handle.status()).fired >= 2


async def test_of_missed_occurrences_that_must_not_overlap_the_first_is_enqueued(
    hf: AsyncHoldfast, site: Site
) -> None:
    handle = await hf.schedule("s", report.call(), Every(3600), missed="all", overlap="skip")
    due_ms = await make_due(hf, site, "s", 5)
    await drain(hf)
    status = await handle.status()
    assert [task_id for task_id, _ in ran] == [f"s@{due_ms}"]
    assert (status.fired, status.skipped, status.missed) == (1, 4, 0)


async def test_a_full_queue_delays_an_occurrence(hf: AsyncHoldfast, site: Site) -> None:
    await hf.queue("reports").redefine(capacity=1)
    await hf.queue("reports").pause()
    await hf.enqueue(report.call("first"))
    handle = await hf.schedule("s", report.call("second"), Every(3600))
    due_ms = await make_due(hf, site, "s")
    await drain(hf)
    assert (await handle.status()).fired == 0
    await hf.queue("reports").resume()
    await drain(hf)
    await drain(hf)
    assert [name for _, name in ran] == ["first", "second"]
    assert ran[1][0] == f"s@{due_ms}"


async def test_a_queue_with_less_room_than_was_missed_gets_all(
    hf: AsyncHoldfast, site: Site
) -> None:
    await hf.queue("reports").redefine(capacity=3)
    await hf.schedule("s", report.call(), Every(1), missed="all")
    await make_due(hf, site, "s", 40)
    async with running_async(hf.worker(tasks)):
        await eventually_async(lambda: len(ran) >= 40)
    assert len({task_id for task_id, _ in ran}) == len(ran) >= 40


async def test_a_change_keeps_the_past(hf: AsyncHoldfast, site: Site) -> None:
    handle = await hf.schedule("s", report.call(1), Every(3600))
    due_ms = await make_due(hf, site, "s")
    await drain(hf)
    before = await handle.status()
    await hf.schedule("s", report.call(2), Every(1800))
    after = await handle.status()
    assert (after.fired, after.last_at) == (before.fired, before.last_at)
    assert after.next_at is not None
    assert after.next_at == datetime.fromtimestamp(due_ms / 1000 + 1800, UTC)
    await hf.schedule("s", report.call(2), Every(1800))
    assert (await handle.status()) == after


async def test_pausing_stays_through_a_change(hf: AsyncHoldfast, site: Site) -> None:
    handle = await hf.schedule("s", report.call(), Every(60))
    await handle.pause(op_id="a")
    await handle.pause(op_id="a")
    await hf.schedule("s", report.call(7), Every(90))
    status = await handle.status()
    assert (status.paused, status.next_at) == (True, None)
    assert await handle.next(3) == []
    await handle.resume()
    await handle.resume()
    status = await handle.status()
    assert not status.paused
    assert status.next_at is not None
    assert status.next_at > datetime.now(UTC)
    await drain(hf)
    assert ran == []


async def test_a_trigger_is_beside_the_instants(hf: AsyncHoldfast) -> None:
    handle = await hf.schedule("s", report.call(5), Every(3600))
    before = await handle.status()
    task = await handle.trigger(op_id="once")
    assert (await handle.trigger(op_id="once")).task_id == task.task_id
    await drain(hf)
    assert ran == [(task.task_id, 5)]
    assert await handle.status() == before


async def test_one_instant_ends_the_schedule(hf: AsyncHoldfast) -> None:
    handle = await hf.schedule("s", report.call(), Once(time.time() - 1))
    await drain(hf)
    assert len(ran) == 1
    with pytest.raises(NoSuchSchedule, match="there is no schedule 's'"):
        await handle.status()
    assert await hf.schedules() == []


async def test_a_removed_schedule_is_gone(hf: AsyncHoldfast, site: Site) -> None:
    handle = await hf.schedule("s", report.call(), Every(60))
    await handle.remove()
    for action in (handle.status, handle.pause, handle.resume, handle.trigger, handle.remove):
        with pytest.raises(NoSuchSchedule):
            await action()
    await hf.schedule("s", report.call(), FAR)
    await handle.remove()
    await drain(hf)
    assert ran == []


async def test_a_name_belongs_to_one_queue(hf: AsyncHoldfast) -> None:
    await hf.schedule("s", report.call(), FAR)
    with pytest.raises(ScheduleExists, match="it is in queue 'reports'"):
        await hf.schedule("s", report.call().options(queue="other"), FAR)
    await hf.schedule_handle("s").remove()
    await hf.schedule("s", report.call().options(queue="other"), FAR)
    assert [each.queue for each in await hf.schedules()] == ["other"]


async def test_the_next_one_is_listed_first(hf: AsyncHoldfast) -> None:
    for name, at in (("c", 3e9), ("a", 1.9e9), ("b", 2e9)):
        await hf.schedule(name, report.call(), Once(at))
    await hf.schedule("d", report.call().options(queue="other"), FAR)
    assert [each.name for each in await hf.schedules(queue="reports")] == ["a", "b", "c"]
    assert {each.name for each in await hf.schedules()} == {"a", "b", "c", "d"}
    assert len(await hf.schedules(limit=2)) == 2


async def test_declared_schedules(hf: AsyncHoldfast, site: Site) -> None:
    registry = declaring(Every(3600))
    await drain(hf, registry)
    (status,) = await hf.schedules()
    assert (status.name, status.task, status.declared) == ("nightly", "nightly", True)
    assert status.declared_at is not None
    with pytest.raises(ScheduleExists, match="code declares it"):
        await hf.schedule("nightly", report.call(), Every(5))
    due_ms = await make_due(hf, site, "nightly")
    await drain(hf, registry)
    assert ran == [(f"nightly@{due_ms}", "nightly")]


async def test_a_declared_instant_fires_once(hf: AsyncHoldfast) -> None:
    """Workers that start later declare it again."""
    at = int(time.time()) - 100
    registry = declaring(Once(at))
    for _ in range(3):
        await drain(hf, registry)
    assert [task_id for task_id, _ in ran] == [f"nightly@{at}000"]
    assert await hf.schedules() == []
    [definition] = registry.schedules("reports")
    assert await hf._resources.schedule_store.refresh(definition)  # otherwise it would be logged
    assert (await hf.audit()).damages == ()

    await drain(hf, declaring(Once(at + 1)))  # a deployment chooses a later instant
    await hf.schedule("nightly", report.call("stored"), Once(at))  # another one of this name
    await drain(hf)
    ids = [task_id for task_id, _ in ran]
    assert ids == [f"nightly@{at}000", f"nightly@{at + 1}000", f"nightly@{at}000"]


async def test_a_declared_instant_fires_once_in_all_queues(
    hf: AsyncHoldfast, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deployment gives the task another queue, and old workers start again meanwhile."""
    monkeypatch.setattr(scheduler, "_REFRESH_S", 0.0)
    at = int(time.time()) - 100
    old, new = declaring(Once(at)), declaring(Once(at), queue="other")
    for registry in (old, new, new, old, new):
        await drain(hf, registry)
        with pytest.raises(NoSuchSchedule):
            await hf.schedule_handle("nightly").pause()
    assert [task_id for task_id, _ in ran] == [f"nightly@{at}000"]
    assert await hf.schedules() == []
    assert not [each for each in caplog.records if "not in force" in each.getMessage()]

    await drain(hf, declaring(Once(at + 1), queue="other"))  # a later deployment
    await drain(hf, new)
    await drain(hf, old)
    assert [task_id for task_id, _ in ran] == [f"nightly@{at}000", f"nightly@{at + 1}000"]
    assert (await hf.audit()).damages == ()


async def test_an_old_worker_leaves_the_instant_of_a_new_one(hf: AsyncHoldfast) -> None:
    """The instant that it declares itself has passed, in another queue."""
    at = int(time.time()) - 100
    old, new = declaring(Once(at)), declaring(FAR, queue="other")
    for registry in (old, new, old, old):
        await drain(hf, registry)
    assert [task_id for task_id, _ in ran] == [f"nightly@{at}000"]
    [status] = await hf.schedules()
    assert (status.queue, status.timing) == ("other", FAR)


async def test_a_deployment_changes_a_declared_schedule(hf: AsyncHoldfast, site: Site) -> None:
    """Old and new workers start in turn: each instant once, and no gap beyond the longer period."""
    old, new = declaring(Every(7200)), declaring(Schedule(Every(3600), overlap="skip"))
    await drain(hf, old)
    due_ms = await make_due(hf, site, "nightly")
    for registry in (new, old, new, old, new):
        await drain(hf, registry)
        (status,) = await hf.schedules()
        assert status.next_at is not None
        gap_s = status.next_at.timestamp() - due_ms / 1000
        assert gap_s <= 7200
    ids = [task_id for task_id, _ in ran]
    assert len(ids) == len({*ids}) == 1
    assert (status.timing, status.overlap) == (Every(3600), "skip")


async def test_a_declared_schedule_moves_to_another_queue(hf: AsyncHoldfast) -> None:
    await drain(hf, declaring(Every(3600)))
    await drain(hf, declaring(Every(3600), queue="other"))
    assert [(each.name, each.queue) for each in await hf.schedules()] == [("nightly", "other")]


async def test_a_move_to_another_queue_keeps_what_is_due(hf: AsyncHoldfast, site: Site) -> None:
    """The new workers start after the old ones have stopped, and after the instant."""
    await drain(hf, declaring(Every(3600)))
    due_ms = await make_due(hf, site, "nightly")
    await drain(hf, declaring(Every(3600), queue="other"))
    assert ran == [(f"nightly@{due_ms}", "nightly")]
    await hf.schedule_handle("nightly").pause()
    await drain(hf, declaring(Every(3600)))
    (status,) = await hf.schedules()
    assert (status.queue, status.paused) == ("reports", True)
    await drain(hf, declaring(Every(3600), queue="other"))
    await hf.schedule_handle("nightly").resume()
    next_at = (await hf.schedule_handle("nightly").status()).next_at
    assert next_at is not None
    assert next_at.timestamp() * 1000 > due_ms
    assert len(ran) == 1


async def test_changes_do_not_postpone_the_first_occurrence(hf: AsyncHoldfast) -> None:
    """Workers of two versions restart in turn, each time before the first instant."""
    handle = await hf.schedule("s", report.call(), Every(3))
    first = (await handle.status()).next_at
    for interval in (2, 3, 2, 3):
        await sleep(0.3)
        await hf.schedule("s", report.call(), Every(interval))
    assert (await handle.status()).next_at == first


async def test_a_schedule_that_is_defined_again_while_it_ends_has_its_name(
    hf: AsyncHoldfast,
) -> None:
    """The last task of a schedule defines it again before the worker forgets its name."""
    handle = await hf.schedule("s", report.call(), FAR)
    store = hf._resources.schedule_store
    await store.forget("s", "reports")  # what the worker does too late
    assert (await handle.status()).queue == "reports"
    with pytest.raises(ScheduleExists):
        await hf.schedule("s", report.call().options(queue="other"), FAR)


async def test_a_task_may_define_its_own_schedule_again(hf: AsyncHoldfast) -> None:
    registry = TaskRegistry()
    runs: list[int] = []

    @registry.task(queue="reports")
    async def again(n: int) -> None:
        runs.append(n)
        await hf.schedule("s", again.call(n + 1), Once(time.time() - 1 if n < 20 else 4e9))

    await hf.schedule("s", again.call(1), Once(time.time() - 1))
    async with running_async(hf.worker(registry)):
        await eventually_async(lambda: len(runs) >= 20, 30)
    assert (await hf.schedule_handle("s").status()).next_at == datetime.fromtimestamp(4e9, UTC)


async def test_a_definition_that_is_not_in_force_is_reported(
    hf: AsyncHoldfast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two programs declare one name, in two queues: the first one fires nothing any more."""
    monkeypatch.setattr(scheduler, "_REFRESH_S", 0.0)
    async with running_async(hf.worker(declaring(Every(1)))):
        await eventually_async(lambda: bool(ran), 30)
        await drain(hf, declaring(Every(3600), queue="other"))
        await hf.schedule("wakes", report.call(), FAR)
        text = "the definition in this worker is not in force"
        await eventually_async(lambda: text in caplog.text, 30)
    assert "schedule nightly of queue 'reports'" in caplog.text


async def test_schedules_of_many_queues_are_listed_together(hf: AsyncHoldfast) -> None:
    for n in range(60):
        await hf.schedule(f"q{n}", report.call().options(queue=f"queue-{n}"), FAR)
    for n in range(120):
        await hf.schedule(f"s{n:03}", report.call(), Once(2e9 + n))
    assert len(await hf.schedules()) == 180
    assert [each.name for each in await hf.schedules(queue="reports", limit=110)] == [
        f"s{n:03}" for n in range(110)
    ]


def declaring(schedule: Any, queue: str = "reports") -> TaskRegistry:
    """Return a registry that declares a schedule."""
    registry = TaskRegistry()

    @registry.task(queue=queue, schedule=schedule)
    def nightly() -> None:
        report("nightly")

    return registry


def test_wrong_declarations_are_refused() -> None:
    registry = TaskRegistry()
    with pytest.raises(ValueError, match="needs a default for each parameter"):

        @registry.task(schedule=Every(60))
        def needs(n: int) -> None: ...

    with pytest.raises(TypeError, match="a schedule takes a Cron"):

        @registry.task(schedule="0 3 * * *")  # type: ignore[arg-type]
        def text() -> None: ...


async def test_wrong_schedules_are_refused(hf: AsyncHoldfast) -> None:
    with pytest.raises(ValueError, match="has no task_id, delay"):
        await hf.schedule("s", report.call().options(delay=5), FAR)
    with pytest.raises(ValueError, match="missed must be"):
        await hf.schedule("s", report.call(), FAR, missed="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes 1 to 184 bytes"):
        await hf.schedule("s" * 185, report.call(), FAR)
    assert await hf.schedules() == []


async def test_a_damaged_definition_stops_no_other(hf: AsyncHoldfast, site: Site) -> None:
    unit = hf._resources.namespace.unit(keys.KIND, "reports")
    for name in ("a", "bad", "c"):
        await hf.schedule(name, report.call(name), Every(3600))
        await make_due(hf, site, name)
    site.client.hset(keys.schedules(unit), "bad", b"s{}")
    await drain(hf)
    assert sorted(str(name) for _, name in ran) == ["a", "c"]


async def test_a_worker_without_cronsim_leaves_cron_to_others(
    hf: AsyncHoldfast,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Another program may store what this one cannot compute: it is shown, and stays due."""
    nightly = await hf.schedule("nightly", report.call("n"), Cron("0 3 * * *"))
    await make_due(hf, site, "nightly")
    await hf.schedule("hourly", report.call("h"), Every(3600))
    await make_due(hf, site, "hourly")
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR, "holdfast"):
        patch.setitem(sys.modules, "cronsim", None)
        await drain(hf)
        status = await nightly.status()
        assert str(status.timing) == "0 3 * * *"
        with pytest.raises(ModuleNotFoundError, match=r"install `holdfast\[cron\]`"):
            await nightly.next(2)
        await nightly.trigger()
    assert [name for _, name in ran] == ["h"]
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("schedule nightly of ")
    assert "install `holdfast[cron]`" in line
    await drain(hf)
    assert sorted(str(name) for _, name in ran) == ["h", "n", "n"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a b", "the name of a schedule holds no blanks"),
        ("", "the name of a schedule takes 1 to 184 bytes"),
        ("x" * 185, "the name of a schedule takes 1 to 184 bytes"),
    ],
)
async def test_a_wrong_name_is_explained(hf: AsyncHoldfast, name: str, why: str) -> None:
    """A schedule is named in the error, not a task."""
    with pytest.raises(InvalidName, match=why):
        hf.schedule_handle(name)
