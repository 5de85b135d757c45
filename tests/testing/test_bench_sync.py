# Generated from test_bench_async.py by tools/unasync.py: edit that, then run `make sync`.
"""What a test sees of its tasks, and having them done, on real servers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import pytest
from pydantic.dataclasses import dataclass as pydantic_dataclass

from conftest import Site
from holdfast import (
    Holdfast,
    LifespanFailed,
    ResultTimeout,
    Retry,
    TaskFailed,
    TaskRegistry,
    WorkerInfo,
    current_task,
)
from holdfast.testing import DrainResult, TaskBench
from holdfast.testing._sync.inline_client import InlineHoldfast
from queues.outcome_tasks import asks_for_time, gives_up, snoozes
from queues.outcome_tasks import tasks as outcome_tasks

tasks = TaskRegistry()


@tasks.task(queue="mail")
def send(to: str, price: int = 1, *, on: date | None = None) -> str:
    return f"{to} {price} {on}"


@tasks.task(queue="mail", retry=Retry(attempts=1))
def fail() -> None:
    raise ValueError("it fails on purpose")


@tasks.task(queue="mail", retry=Retry(attempts=2, backoff=3600.0))
def retry() -> None:
    raise ValueError("and again in an hour")


@pydantic_dataclass
class Parcel:
    weight: int
    content: bytes = b"\xc3\xa9"


@tasks.task(queue="mail")
def ship(parcels: list[Parcel], to: str | None = None) -> list[Parcel]:
    return parcels


@tasks.task(queue="other")
def where() -> str:
    return threading.current_thread().name


@pytest.fixture
def bench(hf: Holdfast) -> TaskBench:
    return TaskBench(hf)


def test_what_is_enqueued_is_found(hf: Holdfast, bench: TaskBench) -> None:
    hf.enqueue(send.call("jack", on=date(2030, 1, 2)))
    hf.enqueue(send.call("jill", price=2).options(delay=3600, priority="high"))
    assert (bench.assert_enqueued(send)).args == ("jack",)
    bench.assert_enqueued(send.name, queue="mail")
    bench.assert_enqueued(send.name, "jill", price=2)
    bench.assert_enqueued(send.call("jill", price=2))
    bench.assert_enqueued(send, "jill", 2, delay=3600.0, priority="high")
    bench.assert_enqueued(send, to="jack", price=1, on=date(2030, 1, 2), delay=0)
    bench.refute_enqueued(send, "jack")  # with another date
    bench.refute_enqueued(send, "jill", 2, delay=0)
    bench.refute_enqueued(send, "jill", 2, delay=60.0)
    bench.refute_enqueued(send, priority="low")
    bench.refute_enqueued(send, queue="other")
    bench.refute_enqueued(where)
    bench.refute_enqueued("unheard of")


def test_a_failure_lists_what_there_is(hf: Holdfast, bench: TaskBench) -> None:
    with pytest.raises(AssertionError, match="nothing is enqueued"):
        bench.assert_enqueued("anything")
    hf.enqueue_many([send.call("jack", n) for n in range(12)])
    with pytest.raises(AssertionError) as missed:
        bench.assert_enqueued(send, "jill", delay=5, priority="low")
    assert str(missed.value).startswith(
        f"not enqueued: {send.name}('jill'), in queue 'mail', delayed by 5 s, of low priority; "
        f"enqueued are:\n  mail: {send.name}('jack', 0), queued\n"
    )
    assert str(missed.value).endswith("… and 2 more")
    with pytest.raises(AssertionError, match=r"enqueued, 12 times: .*send\(…\), in queue 'mail'"):
        bench.refute_enqueued(send)


def test_wrong_use_is_refused(bench: TaskBench) -> None:
    with pytest.raises(TypeError, match="a call has its arguments already"):
        bench.assert_enqueued(send.call("jack"), "jill")
    with pytest.raises(TypeError, match="expected a task, its name or a call, got function"):
        bench.assert_enqueued(lambda: None)  # type: ignore[arg-type]


def test_true_is_not_1(hf: Holdfast, bench: TaskBench) -> None:
    hf.enqueue(send.call("jack", price=1))
    hf.enqueue(ship.call([], to={"urgent": [1, 0]}))  # type: ignore[arg-type]
    bench.assert_enqueued(send, "jack", 1.0)  # JSON has one kind of numbers
    bench.refute_enqueued(send, "jack", True)
    bench.refute_enqueued(send.call("jack", price=True))
    bench.refute_enqueued(send.name, "jack", price=True)
    bench.assert_enqueued(ship, [], {"urgent": [1, 0]})
    bench.refute_enqueued(ship, [], {"urgent": [True, 0]})
    bench.refute_enqueued(ship, [], {"urgent": [1]})
    bench.refute_enqueued(ship, [], {"other": [1, 0]})


def test_what_no_task_can_match_is_refused(bench: TaskBench) -> None:
    with pytest.raises(TypeError, match=r"no call of task '.*send' has these: .* 'prize'"):
        bench.refute_enqueued(send, "jack", prize=2)
    with pytest.raises(TypeError, match="missing a required argument: 'to'"):
        bench.assert_enqueued(send, price=2)
    with pytest.raises(ValueError, match="priority must be one of high, medium, low, got 'hihg'"):
        bench.refute_enqueued(send, priority="hihg")
    with pytest.raises(ValueError, match="delay must be finite, got nan"):
        bench.refute_enqueued(send, delay=float("nan"))
    with pytest.raises(ValueError, match="within must be 0 seconds or more, got -1"):
        bench.refute_enqueued(send, delay=0, within=-1)


def test_a_queue_given_with_a_call_counts(hf: Holdfast, bench: TaskBench) -> None:
    hf.enqueue(send.call("jack").options(queue="elsewhere"))
    bench.assert_enqueued(send.call("jack"), queue="elsewhere")
    bench.refute_enqueued(send.call("jack"))


def test_more_tasks_than_are_read(hf: Holdfast, bench: TaskBench) -> None:
    hf.enqueue_many([send.call("jack", n) for n in range(1000)])
    bench.refute_enqueued(send, "jack", 1000)
    hf.enqueue(send.call("jack", 1000))
    read = "of the 1,001 tasks of queue 'mail', 1,000 were read"
    with pytest.raises(AssertionError, match=f"perhaps enqueued: .*; {read}"):
        bench.refute_enqueued(send, "jack", 1000)
    with pytest.raises(AssertionError, match=f"(?s)not enqueued: .* more; {read}"):
        bench.assert_enqueued(send, "jack", 1001)


def test_draining_runs_what_may_run(hf: Holdfast, bench: TaskBench) -> None:
    registry = TaskRegistry()
    seen: list[int] = []

    @registry.task(queue="chain")
    def first() -> None:
        seen.append(1)

    @registry.task(queue="another")
    def second() -> None:
        seen.append(2)
        later.enqueue(first.call())

    with Holdfast.from_url(hf_url(hf), namespace=hf.namespace) as later:
        hf.enqueue(second.call())
        hf.enqueue(first.call().options(delay=3600))
        assert bench.drain(registry) == DrainResult(done=2, delayed=1)
    assert seen == [2, 1]
    assert bench.drain(registry) == DrainResult(delayed=1)


def hf_url(hf: Holdfast) -> str:
    """Return the URL of a server for each test of this module."""
    return URLS[hf.namespace]


URLS: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _remember(site: Site) -> None:
    URLS[site.namespace] = site.url


def test_draining_counts_how_tasks_ended(hf: Holdfast, bench: TaskBench) -> None:
    done = hf.enqueue(send.call("jack"))
    failed = hf.enqueue(fail.call())
    hf.enqueue(retry.call())
    drained = bench.drain(tasks)
    assert drained == DrainResult(done=1, retried=1, dead=1, delayed=1)
    assert done.result(timeout=0) == "jack 1 None"
    with pytest.raises(TaskFailed, match="it fails on purpose"):
        failed.result(timeout=0)


def test_draining_counts_the_outcomes_that_tasks_choose(hf: Holdfast, bench: TaskBench) -> None:
    hf.enqueue_many([gives_up.call(), snoozes.call(2, 0), snoozes.call(1, 600.0)])
    hf.enqueue(asks_for_time.call(600.0))
    drained = bench.drain(outcome_tasks)
    assert drained == DrainResult(done=1, retried=1, dead=0, delayed=2, snoozed=3, gave_up=1)


def test_models_of_pydantic_match_by_their_values(hf: Holdfast, bench: TaskBench) -> None:
    hf.enqueue(ship.call([Parcel(weight=5)]))
    bench.assert_enqueued(ship, [Parcel(weight=5)])
    bench.assert_enqueued(ship, parcels=[Parcel(weight=5)], to=None)
    bench.assert_enqueued(ship.call([Parcel(weight=5)]))
    bench.refute_enqueued(ship, [Parcel(weight=6)])


def test_draining_gives_up_in_time(hf: Holdfast, bench: TaskBench) -> None:
    hf.enqueue(send.call("jack"))
    hf.queue("mail").pause()
    with pytest.raises(AssertionError, match=r"\['mail'\] not drained in 0.1 s; enqueued are:"):
        bench.drain(tasks, timeout=0.1)
    bench.drain(tasks, queues=["other"])
    with pytest.raises(TypeError, match=r"such as \['other'\], got 'other'"):
        bench.drain(tasks, queues="other")


class Started(Exception):
    """Raised by a lifespan that must not run."""


@contextmanager
def refused(worker: WorkerInfo) -> Iterator[dict[str, str]]:
    raise Started
    yield {}


@contextmanager
def lifespan(worker: WorkerInfo) -> Iterator[dict[str, str]]:
    yield {"pool": "real"}


def test_a_lifespan_runs_or_its_state_is_given(hf: Holdfast, bench: TaskBench, site: Site) -> None:
    registry = TaskRegistry(lifespan=lifespan)

    @registry.task(queue="pooled")
    def pooled() -> str:
        return str(current_task().state["pool"])

    broken = registry.with_lifespan(refused)
    for tasks, state, expected in [(registry, None, "real"), (broken, {"pool": "fake"}, "fake")]:
        handle = hf.enqueue(pooled.call())
        bench.drain(tasks, state=state)
        assert handle.result(timeout=0) == expected
        with InlineHoldfast.from_url(site.url, namespace=site.namespace) as made:
            handle = made.inline(tasks, state=state).enqueue(pooled.call())
            assert handle.result(timeout=0) == expected
    hf.enqueue(pooled.call())
    with pytest.raises(LifespanFailed, match="Started"):
        bench.drain(broken)
    with InlineHoldfast.from_url(site.url, namespace=site.namespace) as made:
        inline = made.inline(broken)
        with pytest.raises(LifespanFailed, match="Started"):
            inline.enqueue(pooled.call())


def test_inline_tasks_run_when_they_are_enqueued(site: Site) -> None:
    with InlineHoldfast.from_url(site.url, namespace=site.namespace) as made:
        hf = made.inline(tasks)
        handle = hf.enqueue(send.call("jill", 3))
        assert handle.result(timeout=0) == "jill 3 None"
        handles = hf.enqueue_many([send.call("a"), where.call()])
        assert [(each.status()).state for each in handles] == ["done", "done"]
        assert hf.enqueue_many([]) == []
        with pytest.raises(TaskFailed, match="it fails on purpose"):
            (hf.enqueue(fail.call())).result(timeout=0)
        failed = hf.enqueue(retry.call())
        again = failed.status()
        assert (again.state, again.attempts) == ("delayed", 1)
        assert again.reason == "failed: ValueError: and again in an hour"
        with pytest.raises(ResultTimeout):
            failed.result(timeout=0)
        parcels = [Parcel(weight=5)]
        assert (hf.enqueue(ship.call(parcels))).result(timeout=0) == parcels
        later = hf.enqueue(send.call("later").options(delay=3600))
        assert (later.status()).state == "delayed"


def test_inline_tasks_choose_their_outcome(site: Site) -> None:
    """A task that snoozes or asks for time has run once."""
    with InlineHoldfast.from_url(site.url, namespace=site.namespace) as made:
        hf = made.inline(outcome_tasks)
        with pytest.raises(TaskFailed, match="gave-up: no such address"):
            (hf.enqueue(gives_up.call())).result(timeout=0)
        snoozed = (hf.enqueue(snoozes.call(2, 600.0))).status()
        assert (snoozed.state, snoozed.snoozes, snoozed.attempts) == ("delayed", 1, 0)
        assert snoozed.reason == "snoozed: not yet"
        waits = (hf.enqueue(asks_for_time.call(600.0))).status()
        assert (waits.state, waits.attempts) == ("delayed", 1)
