"""What a test sees of its tasks, and having them done, on real servers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date

import pytest
from pydantic.dataclasses import dataclass as pydantic_dataclass

from conftest import Site
from holdfast import (
    AsyncHoldfast,
    LifespanFailed,
    ResultTimeout,
    Retry,
    TaskFailed,
    TaskRegistry,
    WorkerInfo,
    current_task,
)
from holdfast.testing import AsyncTaskBench, DrainResult
from holdfast.testing._async.inline_client import AsyncInlineHoldfast
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
async def where() -> str:
    return threading.current_thread().name


@pytest.fixture
def bench(hf: AsyncHoldfast) -> AsyncTaskBench:
    return AsyncTaskBench(hf)


async def test_what_is_enqueued_is_found(hf: AsyncHoldfast, bench: AsyncTaskBench) -> None:
    await hf.enqueue(send.call("jack", on=date(2030, 1, 2)))
    await hf.enqueue(send.call("jill", price=2).options(delay=3600, priority="high"))
    assert (await bench.assert_enqueued(send)).args == ("jack",)
    await bench.assert_enqueued(send.name, queue="mail")
    await bench.assert_enqueued(send.name, "jill", price=2)
    await bench.assert_enqueued(send.call("jill", price=2))
    await bench.assert_enqueued(send, "jill", 2, delay=3600.0, priority="high")
    await bench.assert_enqueued(send, to="jack", price=1, on=date(2030, 1, 2), delay=0)
    await bench.refute_enqueued(send, "jack")  # with another date
    await bench.refute_enqueued(send, "jill", 2, delay=0)
    await bench.refute_enqueued(send, "jill", 2, delay=60.0)
    await bench.refute_enqueued(send, priority="low")
    await bench.refute_enqueued(send, queue="other")
    await bench.refute_enqueued(where)
    await bench.refute_enqueued("unheard of")


async def test_a_failure_lists_what_there_is(hf: AsyncHoldfast, bench: AsyncTaskBench) -> None:
    with pytest.raises(AssertionError, match="nothing is enqueued"):
        await bench.assert_enqueued("anything")
    await hf.enqueue_many([send.call("jack", n) for n in range(12)])
    with pytest.raises(AssertionError) as missed:
        await bench.assert_enqueued(send, "jill", delay=5, priority="low")
    assert str(missed.value).startswith(
        f"not enqueued: {send.name}('jill'), in queue 'mail', delayed by 5 s, of low priority; "
        f"enqueued are:\n  mail: {send.name}('jack', 0), queued\n"
    )
    assert str(missed.value).endswith("… and 2 more")
    with pytest.raises(AssertionError, match=r"enqueued, 12 times: .*send\(…\), in queue 'mail'"):
        await bench.refute_enqueued(send)


async def test_wrong_use_is_refused(bench: AsyncTaskBench) -> None:
    with pytest.raises(TypeError, match="a call has its arguments already"):
        await bench.assert_enqueued(send.call("jack"), "jill")
    with pytest.raises(TypeError, match="expected a task, its name or a call, got function"):
        await bench.assert_enqueued(lambda: None)  # type: ignore[arg-type]


async def test_true_is_not_1(hf: AsyncHoldfast, bench: AsyncTaskBench) -> None:
    await hf.enqueue(send.call("jack", price=1))
    await hf.enqueue(ship.call([], to={"urgent": [1, 0]}))  # type: ignore[arg-type]
    await bench.assert_enqueued(send, "jack", 1.0)  # JSON has one kind of numbers
    await bench.refute_enqueued(send, "jack", True)
    await bench.refute_enqueued(send.call("jack", price=True))
    await bench.refute_enqueued(send.name, "jack", price=True)
    await bench.assert_enqueued(ship, [], {"urgent": [1, 0]})
    await bench.refute_enqueued(ship, [], {"urgent": [True, 0]})
    await bench.refute_enqueued(ship, [], {"urgent": [1]})
    await bench.refute_enqueued(ship, [], {"other": [1, 0]})


async def test_what_no_task_can_match_is_refused(bench: AsyncTaskBench) -> None:
    with pytest.raises(TypeError, match=r"no call of task '.*send' has these: .* 'prize'"):
        await bench.refute_enqueued(send, "jack", prize=2)
    with pytest.raises(TypeError, match="missing a required argument: 'to'"):
        await bench.assert_enqueued(send, price=2)
    with pytest.raises(ValueError, match="priority must be one of high, medium, low, got 'hihg'"):
        await bench.refute_enqueued(send, priority="hihg")
    with pytest.raises(ValueError, match="delay must be finite, got nan"):
        await bench.refute_enqueued(send, delay=float("nan"))
    with pytest.raises(ValueError, match="within must be 0 seconds or more, got -1"):
        await bench.refute_enqueued(send, delay=0, within=-1)


async def test_a_queue_given_with_a_call_counts(hf: AsyncHoldfast, bench: AsyncTaskBench) -> None:
    await hf.enqueue(send.call("jack").options(queue="elsewhere"))
    await bench.assert_enqueued(send.call("jack"), queue="elsewhere")
    await bench.refute_enqueued(send.call("jack"))


async def test_more_tasks_than_are_read(hf: AsyncHoldfast, bench: AsyncTaskBench) -> None:
    await hf.enqueue_many([send.call("jack", n) for n in range(1000)])
    await bench.refute_enqueued(send, "jack", 1000)
    await hf.enqueue(send.call("jack", 1000))
    read = "of the 1,001 tasks of queue 'mail', 1,000 were read"
    with pytest.raises(AssertionError, match=f"perhaps enqueued: .*; {read}"):
        await bench.refute_enqueued(send, "jack", 1000)
    with pytest.raises(AssertionError, match=f"(?s)not enqueued: .* more; {read}"):
        await bench.assert_enqueued(send, "jack", 1001)


async def test_draining_runs_what_may_run(hf: AsyncHoldfast, bench: AsyncTaskBench) -> None:
    registry = TaskRegistry()
    seen: list[int] = []

    @registry.task(queue="chain")
    def first() -> None:
        seen.append(1)

    @registry.task(queue="another")
    async def second() -> None:
        seen.append(2)
        await later.enqueue(first.call())

    async with AsyncHoldfast.from_url(hf_url(hf), namespace=hf.namespace) as later:
        await hf.enqueue(second.call())
        await hf.enqueue(first.call().options(delay=3600))
        assert await bench.drain(registry) == DrainResult(done=2, delayed=1)
    assert seen == [2, 1]
    assert await bench.drain(registry) == DrainResult(delayed=1)


def hf_url(hf: AsyncHoldfast) -> str:
    """Return the URL of a server for each test of this module."""
    return URLS[hf.namespace]


URLS: dict[str, str] = {}


@pytest.fixture(autouse=True)
def _remember(site: Site) -> None:
    URLS[site.namespace] = site.url


async def test_draining_counts_how_tasks_ended(hf: AsyncHoldfast, bench: AsyncTaskBench) -> None:
    done = await hf.enqueue(send.call("jack"))
    failed = await hf.enqueue(fail.call())
    await hf.enqueue(retry.call())
    drained = await bench.drain(tasks)
    assert drained == DrainResult(done=1, retried=1, dead=1, delayed=1)
    assert await done.result(timeout=0) == "jack 1 None"
    with pytest.raises(TaskFailed, match="it fails on purpose"):
        await failed.result(timeout=0)


async def test_draining_counts_the_outcomes_that_tasks_choose(
    hf: AsyncHoldfast, bench: AsyncTaskBench
) -> None:
    await hf.enqueue_many([gives_up.call(), snoozes.call(2, 0), snoozes.call(1, 600.0)])
    await hf.enqueue(asks_for_time.call(600.0))
    drained = await bench.drain(outcome_tasks)
    assert drained == DrainResult(done=1, retried=1, dead=0, delayed=2, snoozed=3, gave_up=1)


async def test_models_of_pydantic_match_by_their_values(
    hf: AsyncHoldfast, bench: AsyncTaskBench
) -> None:
    await hf.enqueue(ship.call([Parcel(weight=5)]))
    await bench.assert_enqueued(ship, [Parcel(weight=5)])
    await bench.assert_enqueued(ship, parcels=[Parcel(weight=5)], to=None)
    await bench.assert_enqueued(ship.call([Parcel(weight=5)]))
    await bench.refute_enqueued(ship, [Parcel(weight=6)])


async def test_draining_gives_up_in_time(hf: AsyncHoldfast, bench: AsyncTaskBench) -> None:
    await hf.enqueue(send.call("jack"))
    await hf.queue("mail").pause()
    with pytest.raises(AssertionError, match=r"\['mail'\] not drained in 0.1 s; enqueued are:"):
        await bench.drain(tasks, timeout=0.1)
    await bench.drain(tasks, queues=["other"])
    with pytest.raises(TypeError, match=r"such as \['other'\], got 'other'"):
        await bench.drain(tasks, queues="other")


class Started(Exception):
    """Raised by a lifespan that must not run."""


@contextmanager
def refused(worker: WorkerInfo) -> Iterator[dict[str, str]]:
    raise Started
    yield {}


@contextmanager
def lifespan(worker: WorkerInfo) -> Iterator[dict[str, str]]:
    yield {"pool": "real"}


async def test_a_lifespan_runs_or_its_state_is_given(
    hf: AsyncHoldfast, bench: AsyncTaskBench, site: Site
) -> None:
    registry = TaskRegistry(lifespan=lifespan)

    @registry.task(queue="pooled")
    def pooled() -> str:
        return str(current_task().state["pool"])

    broken = registry.with_lifespan(refused)
    for tasks, state, expected in [(registry, None, "real"), (broken, {"pool": "fake"}, "fake")]:
        handle = await hf.enqueue(pooled.call())
        await bench.drain(tasks, state=state)
        assert await handle.result(timeout=0) == expected
        async with AsyncInlineHoldfast.from_url(site.url, namespace=site.namespace) as made:
            handle = await made.inline(tasks, state=state).enqueue(pooled.call())
            assert await handle.result(timeout=0) == expected
    await hf.enqueue(pooled.call())
    with pytest.raises(LifespanFailed, match="Started"):
        await bench.drain(broken)
    async with AsyncInlineHoldfast.from_url(site.url, namespace=site.namespace) as made:
        inline = made.inline(broken)
        with pytest.raises(LifespanFailed, match="Started"):
            await inline.enqueue(pooled.call())


async def test_inline_tasks_run_when_they_are_enqueued(site: Site) -> None:
    async with AsyncInlineHoldfast.from_url(site.url, namespace=site.namespace) as made:
        hf = made.inline(tasks)
        handle = await hf.enqueue(send.call("jill", 3))
        assert await handle.result(timeout=0) == "jill 3 None"
        handles = await hf.enqueue_many([send.call("a"), where.call()])
        assert [(await each.status()).state for each in handles] == ["done", "done"]
        assert await hf.enqueue_many([]) == []
        with pytest.raises(TaskFailed, match="it fails on purpose"):
            await (await hf.enqueue(fail.call())).result(timeout=0)
        failed = await hf.enqueue(retry.call())
        again = await failed.status()
        assert (again.state, again.attempts) == ("delayed", 1)
        assert again.reason == "failed: ValueError: and again in an hour"
        with pytest.raises(ResultTimeout):
            await failed.result(timeout=0)
        parcels = [Parcel(weight=5)]
        assert await (await hf.enqueue(ship.call(parcels))).result(timeout=0) == parcels
        later = await hf.enqueue(send.call("later").options(delay=3600))
        assert (await later.status()).state == "delayed"


async def test_inline_tasks_choose_their_outcome(site: Site) -> None:
    """A task that snoozes or asks for time has run once."""
    async with AsyncInlineHoldfast.from_url(site.url, namespace=site.namespace) as made:
        hf = made.inline(outcome_tasks)
        with pytest.raises(TaskFailed, match="gave-up: no such address"):
            await (await hf.enqueue(gives_up.call())).result(timeout=0)
        snoozed = await (await hf.enqueue(snoozes.call(2, 600.0))).status()
        assert (snoozed.state, snoozed.snoozes, snoozed.attempts) == ("delayed", 1, 0)
        assert snoozed.reason == "snoozed: not yet"
        waits = await (await hf.enqueue(asks_for_time.call(600.0))).status()
        assert (waits.state, waits.attempts) == ("delayed", 1)
