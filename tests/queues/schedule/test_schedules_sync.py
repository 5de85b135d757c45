# Generated from test_schedules_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Schedules on a real server: what is stored, fired, skipped and refused."""

import logging
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import (
    Cron,
    Every,
    Holdfast,
    InvalidName,
    NoSuchSchedule,
    Once,
    Schedule,
    ScheduleExists,
    TaskRegistry,
)
from holdfast.core.concurrency._sync.primitives import sleep
from holdfast.queues import keys
from holdfast.queues.worker import scheduler
from queues.schedule.scheduled_tasks import ran, report, running, tasks

FAR = Once(4_000_000_000)


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    ran.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def drain(hf: Holdfast, registry: TaskRegistry = tasks) -> None:
    """Fire what is due, and run everything that is there."""
    hf.worker(registry).run(until_idle=True)


def make_due(hf: Holdfast, site: Site, name: str, occurrences: int = 1) -> int:
    """Put the next instant of a schedule back by some occurrences; return it in ms."""
    (status,) = [each for each in hf.schedules() if each.name == name]
    assert status.next_at is not None
    next_ms = round(status.next_at.timestamp() * 1000)
    due_ms = status.timing.back_from(next_ms, occurrences)
    unit = hf._resources.namespace.unit(keys.KIND, "reports")
    site.client.zadd(keys.schedule_times(unit), {name: due_ms})
    return due_ms


def test_an_occurrence_is_enqueued_once(hf: Holdfast, site: Site) -> None:
    handle = hf.schedule("daily", report.call("x"), Cron("0 3 * * *", "Europe/Berlin"))
    drain(hf)
    assert ran == []
    due_ms = make_due(hf, site, "daily")
    drain(hf)
    drain(hf)
    assert ran == [(f"daily@{due_ms}", "x")]
    status = handle.status()
    assert (status.fired, status.missed, status.skipped) == (1, 0, 0)
    assert status.last_task_id == f"daily@{due_ms}"
    assert status.last_at == datetime.fromtimestamp(due_ms / 1000, UTC)
    first, second = handle.next(2)
    assert first == status.next_at
    assert timedelta(hours=23) <= second - first <= timedelta(hours=25)


def test_a_worker_fires_what_becomes_due(hf: Holdfast) -> None:
    hf.schedule("soon", report.call(1), Every(1))
    with running(hf.worker(tasks)):
        eventually(lambda: len(ran) >= 2)
    first, second = (int(task_id.removeprefix("soon@")) for task_id, _ in ran[:2])
    assert second - first == 1000


@pytest.mark.parametrize(
    ("missed", "fired", "lost"), [("once", 1, 5), ("all", 6, 0), ("skip", 0, 6)]
)
def test_after_an_outage(hf: Holdfast, site: Site, missed: Any, fired: int, lost: int) -> None:
    """Five minutes and a half without a worker: six occurrences, the last one 90 s late."""
    timing = Every(60, phase=(time.time() - 90) % 60)
    handle = hf.schedule("s", report.call(), timing, missed=missed)
    unit = hf._resources.namespace.unit(keys.KIND, "reports")
    last_ms = timing.next_after(int((time.time() - 100) * 1000))
    assert last_ms is not None
    if missed == "skip":  # the last one must be more than a minute late
        timing = Every(3600, phase=(time.time() - 90) % 3600)
        handle = hf.schedule("s", report.call(), timing, missed=missed)
        last_ms = timing.next_after(int((time.time() - 100) * 1000))
        assert last_ms is not None
        fired, lost = 0, 6
        first_ms = last_ms - 5 * 3_600_000
    else:
        first_ms = timing.last_until(int(time.time() * 1000), last_ms)[0] - 5 * 60_000
    site.client.zadd(keys.schedule_times(unit), {"s": first_ms})
    drain(hf)
    status = handle.status()
    assert (status.fired, status.missed, len(ran)) == (fired, lost, fired)
    assert len({task_id for task_id, _ in ran}) == fired


def test_an_overlap_is_skipped(hf: Holdfast) -> None:
    handle = hf.schedule("s", report.call(), Every(1), overlap="skip")
    hf.queue("reports").pause()
    for _ in range(2):
        sleep(1.1)
        drain(hf)
    status = handle.status()
    assert status.fired == 1
    assert status.skipped >= 1
    assert (hf.queue("reports").stats()).ready == 1
    hf.queue("reports").resume()
    drain(hf)
    sleep(1.1)
    drain(hf)
    assert (handle.status()).fired >= 2


def test_of_missed_occurrences_that_must_not_overlap_the_first_is_enqueued(
    hf: Holdfast, site: Site
) -> None:
    handle = hf.schedule("s", report.call(), Every(3600), missed="all", overlap="skip")
    due_ms = make_due(hf, site, "s", 5)
    drain(hf)
    status = handle.status()
    assert [task_id for task_id, _ in ran] == [f"s@{due_ms}"]
    assert (status.fired, status.skipped, status.missed) == (1, 4, 0)


def test_a_full_queue_delays_an_occurrence(hf: Holdfast, site: Site) -> None:
    hf.queue("reports").redefine(capacity=1)
    hf.queue("reports").pause()
    hf.enqueue(report.call("first"))
    handle = hf.schedule("s", report.call("second"), Every(3600))
    due_ms = make_due(hf, site, "s")
    drain(hf)
    assert (handle.status()).fired == 0
    hf.queue("reports").resume()
    drain(hf)
    drain(hf)
    assert [name for _, name in ran] == ["first", "second"]
    assert ran[1][0] == f"s@{due_ms}"


def test_a_queue_with_less_room_than_was_missed_gets_all(hf: Holdfast, site: Site) -> None:
    hf.queue("reports").redefine(capacity=3)
    hf.schedule("s", report.call(), Every(1), missed="all")
    make_due(hf, site, "s", 40)
    with running(hf.worker(tasks)):
        eventually(lambda: len(ran) >= 40)
    assert len({task_id for task_id, _ in ran}) == len(ran) >= 40


def test_a_change_keeps_the_past(hf: Holdfast, site: Site) -> None:
    handle = hf.schedule("s", report.call(1), Every(3600))
    due_ms = make_due(hf, site, "s")
    drain(hf)
    before = handle.status()
    hf.schedule("s", report.call(2), Every(1800))
    after = handle.status()
    assert (after.fired, after.last_at) == (before.fired, before.last_at)
    assert after.next_at is not None
    assert after.next_at == datetime.fromtimestamp(due_ms / 1000 + 1800, UTC)
    hf.schedule("s", report.call(2), Every(1800))
    assert (handle.status()) == after


def test_pausing_stays_through_a_change(hf: Holdfast, site: Site) -> None:
    handle = hf.schedule("s", report.call(), Every(60))
    handle.pause(op_id="a")
    handle.pause(op_id="a")
    hf.schedule("s", report.call(7), Every(90))
    status = handle.status()
    assert (status.paused, status.next_at) == (True, None)
    assert handle.next(3) == []
    handle.resume()
    handle.resume()
    status = handle.status()
    assert not status.paused
    assert status.next_at is not None
    assert status.next_at > datetime.now(UTC)
    drain(hf)
    assert ran == []


def test_a_trigger_is_beside_the_instants(hf: Holdfast) -> None:
    handle = hf.schedule("s", report.call(5), Every(3600))
    before = handle.status()
    task = handle.trigger(op_id="once")
    assert (handle.trigger(op_id="once")).task_id == task.task_id
    drain(hf)
    assert ran == [(task.task_id, 5)]
    assert handle.status() == before


def test_one_instant_ends_the_schedule(hf: Holdfast) -> None:
    handle = hf.schedule("s", report.call(), Once(time.time() - 1))
    drain(hf)
    assert len(ran) == 1
    with pytest.raises(NoSuchSchedule, match="there is no schedule 's'"):
        handle.status()
    assert hf.schedules() == []


def test_a_removed_schedule_is_gone(hf: Holdfast, site: Site) -> None:
    handle = hf.schedule("s", report.call(), Every(60))
    handle.remove()
    for action in (handle.status, handle.pause, handle.resume, handle.trigger, handle.remove):
        with pytest.raises(NoSuchSchedule):
            action()
    hf.schedule("s", report.call(), FAR)
    handle.remove()
    drain(hf)
    assert ran == []


def test_a_name_belongs_to_one_queue(hf: Holdfast) -> None:
    hf.schedule("s", report.call(), FAR)
    with pytest.raises(ScheduleExists, match="it is in queue 'reports'"):
        hf.schedule("s", report.call().options(queue="other"), FAR)
    hf.schedule_handle("s").remove()
    hf.schedule("s", report.call().options(queue="other"), FAR)
    assert [each.queue for each in hf.schedules()] == ["other"]


def test_the_next_one_is_listed_first(hf: Holdfast) -> None:
    for name, at in (("c", 3e9), ("a", 1.9e9), ("b", 2e9)):
        hf.schedule(name, report.call(), Once(at))
    hf.schedule("d", report.call().options(queue="other"), FAR)
    assert [each.name for each in hf.schedules(queue="reports")] == ["a", "b", "c"]
    assert {each.name for each in hf.schedules()} == {"a", "b", "c", "d"}
    assert len(hf.schedules(limit=2)) == 2


def test_declared_schedules(hf: Holdfast, site: Site) -> None:
    registry = declaring(Every(3600))
    drain(hf, registry)
    (status,) = hf.schedules()
    assert (status.name, status.task, status.declared) == ("nightly", "nightly", True)
    assert status.declared_at is not None
    with pytest.raises(ScheduleExists, match="code declares it"):
        hf.schedule("nightly", report.call(), Every(5))
    due_ms = make_due(hf, site, "nightly")
    drain(hf, registry)
    assert ran == [(f"nightly@{due_ms}", "nightly")]


def test_a_declared_instant_fires_once(hf: Holdfast) -> None:
    """Workers that start later declare it again."""
    at = int(time.time()) - 100
    registry = declaring(Once(at))
    for _ in range(3):
        drain(hf, registry)
    assert [task_id for task_id, _ in ran] == [f"nightly@{at}000"]
    assert hf.schedules() == []
    [definition] = registry.schedules("reports")
    assert hf._resources.schedule_store.refresh(definition)  # otherwise it would be logged
    assert (hf.audit()).damages == ()

    drain(hf, declaring(Once(at + 1)))  # a deployment chooses a later instant
    hf.schedule("nightly", report.call("stored"), Once(at))  # another one of this name
    drain(hf)
    ids = [task_id for task_id, _ in ran]
    assert ids == [f"nightly@{at}000", f"nightly@{at + 1}000", f"nightly@{at}000"]


def test_a_declared_instant_fires_once_in_all_queues(
    hf: Holdfast, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deployment gives the task another queue, and old workers start again meanwhile."""
    monkeypatch.setattr(scheduler, "_REFRESH_S", 0.0)
    at = int(time.time()) - 100
    old, new = declaring(Once(at)), declaring(Once(at), queue="other")
    for registry in (old, new, new, old, new):
        drain(hf, registry)
        with pytest.raises(NoSuchSchedule):
            hf.schedule_handle("nightly").pause()
    assert [task_id for task_id, _ in ran] == [f"nightly@{at}000"]
    assert hf.schedules() == []
    assert not [each for each in caplog.records if "not in force" in each.getMessage()]

    drain(hf, declaring(Once(at + 1), queue="other"))  # a later deployment
    drain(hf, new)
    drain(hf, old)
    assert [task_id for task_id, _ in ran] == [f"nightly@{at}000", f"nightly@{at + 1}000"]
    assert (hf.audit()).damages == ()


def test_an_old_worker_leaves_the_instant_of_a_new_one(hf: Holdfast) -> None:
    """The instant that it declares itself has passed, in another queue."""
    at = int(time.time()) - 100
    old, new = declaring(Once(at)), declaring(FAR, queue="other")
    for registry in (old, new, old, old):
        drain(hf, registry)
    assert [task_id for task_id, _ in ran] == [f"nightly@{at}000"]
    [status] = hf.schedules()
    assert (status.queue, status.timing) == ("other", FAR)


def test_a_deployment_changes_a_declared_schedule(hf: Holdfast, site: Site) -> None:
    """Old and new workers start in turn: each instant once, and no gap beyond the longer period."""
    old, new = declaring(Every(7200)), declaring(Schedule(Every(3600), overlap="skip"))
    drain(hf, old)
    due_ms = make_due(hf, site, "nightly")
    for registry in (new, old, new, old, new):
        drain(hf, registry)
        (status,) = hf.schedules()
        assert status.next_at is not None
        gap_s = status.next_at.timestamp() - due_ms / 1000
        assert gap_s <= 7200
    ids = [task_id for task_id, _ in ran]
    assert len(ids) == len({*ids}) == 1
    assert (status.timing, status.overlap) == (Every(3600), "skip")


def test_a_declared_schedule_moves_to_another_queue(hf: Holdfast) -> None:
    drain(hf, declaring(Every(3600)))
    drain(hf, declaring(Every(3600), queue="other"))
    assert [(each.name, each.queue) for each in hf.schedules()] == [("nightly", "other")]


def test_a_move_to_another_queue_keeps_what_is_due(hf: Holdfast, site: Site) -> None:
    """The new workers start after the old ones have stopped, and after the instant."""
    drain(hf, declaring(Every(3600)))
    due_ms = make_due(hf, site, "nightly")
    drain(hf, declaring(Every(3600), queue="other"))
    assert ran == [(f"nightly@{due_ms}", "nightly")]
    hf.schedule_handle("nightly").pause()
    drain(hf, declaring(Every(3600)))
    (status,) = hf.schedules()
    assert (status.queue, status.paused) == ("reports", True)
    drain(hf, declaring(Every(3600), queue="other"))
    hf.schedule_handle("nightly").resume()
    next_at = (hf.schedule_handle("nightly").status()).next_at
    assert next_at is not None
    assert next_at.timestamp() * 1000 > due_ms
    assert len(ran) == 1


def test_changes_do_not_postpone_the_first_occurrence(hf: Holdfast) -> None:
    """Workers of two versions restart in turn, each time before the first instant."""
    handle = hf.schedule("s", report.call(), Every(3))
    first = (handle.status()).next_at
    for interval in (2, 3, 2, 3):
        sleep(0.3)
        hf.schedule("s", report.call(), Every(interval))
    assert (handle.status()).next_at == first


def test_a_schedule_that_is_defined_again_while_it_ends_has_its_name(
    hf: Holdfast,
) -> None:
    """The last task of a schedule defines it again before the worker forgets its name."""
    handle = hf.schedule("s", report.call(), FAR)
    store = hf._resources.schedule_store
    store.forget("s", "reports")  # what the worker does too late
    assert (handle.status()).queue == "reports"
    with pytest.raises(ScheduleExists):
        hf.schedule("s", report.call().options(queue="other"), FAR)


def test_a_task_may_define_its_own_schedule_again(hf: Holdfast) -> None:
    registry = TaskRegistry()
    runs: list[int] = []

    @registry.task(queue="reports")
    def again(n: int) -> None:
        runs.append(n)
        hf.schedule("s", again.call(n + 1), Once(time.time() - 1 if n < 20 else 4e9))

    hf.schedule("s", again.call(1), Once(time.time() - 1))
    with running(hf.worker(registry)):
        eventually(lambda: len(runs) >= 20, 30)
    assert (hf.schedule_handle("s").status()).next_at == datetime.fromtimestamp(4e9, UTC)


def test_a_definition_that_is_not_in_force_is_reported(
    hf: Holdfast, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Two programs declare one name, in two queues: the first one fires nothing any more."""
    monkeypatch.setattr(scheduler, "_REFRESH_S", 0.0)
    with running(hf.worker(declaring(Every(1)))):
        eventually(lambda: bool(ran), 30)
        drain(hf, declaring(Every(3600), queue="other"))
        hf.schedule("wakes", report.call(), FAR)
        text = "the definition in this worker is not in force"
        eventually(lambda: text in caplog.text, 30)
    assert "schedule nightly of queue 'reports'" in caplog.text


def test_schedules_of_many_queues_are_listed_together(hf: Holdfast) -> None:
    for n in range(60):
        hf.schedule(f"q{n}", report.call().options(queue=f"queue-{n}"), FAR)
    for n in range(120):
        hf.schedule(f"s{n:03}", report.call(), Once(2e9 + n))
    assert len(hf.schedules()) == 180
    assert [each.name for each in hf.schedules(queue="reports", limit=110)] == [
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


def test_wrong_schedules_are_refused(hf: Holdfast) -> None:
    with pytest.raises(ValueError, match="has no task_id, delay"):
        hf.schedule("s", report.call().options(delay=5), FAR)
    with pytest.raises(ValueError, match="missed must be"):
        hf.schedule("s", report.call(), FAR, missed="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes 1 to 184 bytes"):
        hf.schedule("s" * 185, report.call(), FAR)
    assert hf.schedules() == []


def test_a_damaged_definition_stops_no_other(hf: Holdfast, site: Site) -> None:
    unit = hf._resources.namespace.unit(keys.KIND, "reports")
    for name in ("a", "bad", "c"):
        hf.schedule(name, report.call(name), Every(3600))
        make_due(hf, site, name)
    site.client.hset(keys.schedules(unit), "bad", b"s{}")
    drain(hf)
    assert sorted(str(name) for _, name in ran) == ["a", "c"]


def test_a_worker_without_cronsim_leaves_cron_to_others(
    hf: Holdfast,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Another program may store what this one cannot compute: it is shown, and stays due."""
    nightly = hf.schedule("nightly", report.call("n"), Cron("0 3 * * *"))
    make_due(hf, site, "nightly")
    hf.schedule("hourly", report.call("h"), Every(3600))
    make_due(hf, site, "hourly")
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR, "holdfast"):
        patch.setitem(sys.modules, "cronsim", None)
        drain(hf)
        status = nightly.status()
        assert str(status.timing) == "0 3 * * *"
        with pytest.raises(ModuleNotFoundError, match=r"install `holdfast\[cron\]`"):
            nightly.next(2)
        nightly.trigger()
    assert [name for _, name in ran] == ["h"]
    [line] = [record.getMessage() for record in caplog.records]
    assert line.startswith("schedule nightly of ")
    assert "install `holdfast[cron]`" in line
    drain(hf)
    assert sorted(str(name) for _, name in ran) == ["h", "n", "n"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a b", "the name of a schedule holds no blanks"),
        ("", "the name of a schedule takes 1 to 184 bytes"),
        ("x" * 185, "the name of a schedule takes 1 to 184 bytes"),
    ],
)
def test_a_wrong_name_is_explained(hf: Holdfast, name: str, why: str) -> None:
    """A schedule is named in the error, not a task."""
    with pytest.raises(InvalidName, match=why):
        hf.schedule_handle(name)
