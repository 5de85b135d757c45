# Generated from test_bench_async.py by tools/unasync.py: edit that, then run `make sync`.
"""What a test sees of its tasks, and having them done, on real servers."""

import threading
from datetime import date

import pytest

from conftest import Site
from holdfast import Holdfast, ResultTimeout, Retry, TaskFailed, TaskRegistry
from holdfast.testing import DrainResult, TaskBench
from holdfast.testing._sync.inline_client import InlineHoldfast

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


def test_a_failure_says_what_there_is(hf: Holdfast, bench: TaskBench) -> None:
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


def test_draining_gives_up_in_time(hf: Holdfast, bench: TaskBench) -> None:
    hf.enqueue(send.call("jack"))
    hf.queue("mail").pause()
    with pytest.raises(AssertionError, match=r"\['mail'\] not drained in 0.1 s; enqueued are:"):
        bench.drain(tasks, timeout=0.1)
    bench.drain(tasks, queues=["other"])


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
        later = hf.enqueue(send.call("later").options(delay=3600))
        assert (later.status()).state == "delayed"
