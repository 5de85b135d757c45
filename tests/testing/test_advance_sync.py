# Generated from test_advance_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Schedules in tests: their occurrences run without waiting for them."""

import sys
from datetime import UTC, datetime, timedelta

import pytest

from conftest import Site
from holdfast import Cron, Every, Holdfast, Once, TaskRegistry, current_task
from holdfast.testing import DrainResult, TaskBench

tasks = TaskRegistry()
ran: list[str] = []


@tasks.task(queue="reports", schedule=Cron("0 3 * * *", tz="Europe/Berlin"))
def nightly() -> None:
    ran.append("nightly")


@tasks.task(queue="digests")
def digest(user: int) -> int:
    ran.append(current_task().task_id)
    return user


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def bench_of(site: Site) -> tuple[Holdfast, TaskBench]:
    hf = Holdfast.from_url(site.url, namespace=site.namespace)
    return hf, TaskBench(hf)


def test_occurrences_run_in_their_order(site: Site) -> None:
    hf, bench = bench_of(site)
    with hf:
        handle = hf.schedule("digest-42", digest.call(42), Every(hours=6))
        before = handle.next(5)
        assert bench.advance(tasks, timedelta(days=1)) == DrainResult(done=5)
        instants = [int(one.timestamp() * 1000) for one in before]
        assert [each for each in ran if each != "nightly"] == [
            f"digest-42@{each}" for each in instants[:4]
        ]
        assert ran.count("nightly") == 1
        assert handle.next(1) == before[4:]


def test_a_second_call_continues(site: Site) -> None:
    hf, bench = bench_of(site)
    with hf:
        hf.schedule("digest-42", digest.call(42), Every(60))
        assert (bench.advance(tasks, 90, queues=["digests"])).done == 1
        assert (bench.advance(tasks, 20, queues=["digests"])).done == 0
        assert (bench.advance(tasks, 15, queues=["digests"])).done == 1
        assert len(set(ran)) == 2


def test_a_schedule_ends_after_its_only_instant(site: Site) -> None:
    hf, bench = bench_of(site)
    with hf:
        hf.schedule("once", digest.call(1), Once(datetime.now(UTC) + timedelta(days=3)))
        assert (bench.advance(tasks, timedelta(days=2), queues=["digests"])).done == 0
        assert (bench.advance(tasks, timedelta(days=2), queues=["digests"])).done == 1
        assert hf.schedules() == []


def test_a_paused_schedule_does_not_run(site: Site) -> None:
    hf, bench = bench_of(site)
    with hf:
        handle = hf.schedule("digest-42", digest.call(42), Every(60))
        handle.pause()
        assert (bench.advance(tasks, 600, queues=["digests"])).done == 0


def test_too_many_occurrences_are_an_error(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[TaskBench.__module__], "EVENTS", 3)
    hf, bench = bench_of(site)
    with hf:
        hf.schedule("digest-42", digest.call(42), Every(60))
        with pytest.raises(AssertionError, match="more than 3 events: advance by less"):
            bench.advance(tasks, 600, queues=["digests"])


@pytest.mark.parametrize("by", [-1.0, timedelta(seconds=-1), float("nan"), float("inf")])
def test_impossible_times_are_rejected(site: Site, by: float | timedelta) -> None:
    hf, bench = bench_of(site)
    with hf:
        with pytest.raises(ValueError, match="0 seconds or more"):
            bench.advance(tasks, by)
        assert bench.advance(tasks, timedelta(days=1)) == DrainResult(done=1)
