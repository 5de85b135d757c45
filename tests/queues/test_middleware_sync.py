# Generated from test_middleware_async.py by tools/unasync.py: edit that, then run `make sync`.
"""Middleware runs around every attempt, in order, and everything passes through it."""

import re
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from conftest import Site
from faults.waiting import eventually
from holdfast import Holdfast, Retry, RunningTask, TaskRegistry
from queues.middleware_tasks import (
    AroundAll,
    CallableAroundAll,
    add_async,
    add_plain,
    around_all,
    disguised,
    fail_async,
    fail_plain,
    hang_async,
    hang_plain,
    mixed,
    recorded,
    refuse_async,
    refuse_plain,
    seen,
    tenant_async,
    tenant_plain,
    visit,
)


@pytest.fixture
def hf(site: Site) -> Iterator[Holdfast]:
    seen.clear()
    with Holdfast.from_url(site.url, namespace=site.namespace) as hf:
        yield hf


def run(hf: Holdfast, tasks: TaskRegistry) -> None:
    hf.worker(tasks).run(until_idle=True)


@pytest.mark.parametrize("task", [add_async, add_plain], ids=lambda task: task.name)
def test_the_first_middleware_is_the_outermost(hf: Holdfast, task) -> None:
    handle = hf.enqueue(task.call(1, b=2))
    run(hf, recorded)
    running = seen.pop(2)
    assert seen == [
        f"outer begins {task.name}",
        f"inner begins {task.name}",
        "inner ends with 3",
        "outer ends with 3",
    ]
    assert isinstance(running, RunningTask)
    assert (running.task_id, running.args, running.kwargs) == (handle.task_id, (1,), {"b": 2})
    assert running.state == {}
    assert handle.result(timeout=0) == 3


@pytest.mark.parametrize("task", [fail_async, fail_plain], ids=lambda task: task.name)
def test_exceptions_pass_through(hf: Holdfast, task) -> None:
    hf.enqueue(task.call())
    run(hf, recorded)
    assert seen[2:] == ["inner ends with ValueError", "outer ends with ValueError"]
    [dead] = hf.queue("recorded").dead()
    assert dead.reason == "failed: ValueError: on purpose"


@pytest.mark.parametrize(
    ("task", "error"),
    [(hang_async, "CancelledError"), (hang_plain, "Interrupted")],
    ids=["hang_async", "hang_plain"],
)
def test_timeouts_pass_through(hf: Holdfast, task, error: str) -> None:
    hf.enqueue(task.call())
    run(hf, recorded)
    eventually(lambda: len(seen) == 4)  # a plain function ends in its own time
    assert seen[2:] == [f"inner ends with {error}", f"outer ends with {error}"]
    [dead] = hf.queue("recorded").dead()
    assert dead.reason == "failed: TimeoutError: it took longer than its timeout, 1 s"


@pytest.mark.parametrize("task", [refuse_async, refuse_plain], ids=lambda task: task.name)
def test_the_retries_see_the_exception_of_the_middleware(hf: Holdfast, task) -> None:
    hf.enqueue(task.call())
    run(hf, mixed)
    [dead] = hf.queue("mixed").dead()
    assert (dead.attempts, dead.reason) == (2, "failed: KeyError: 'translated in attempt 2'")


@pytest.mark.parametrize("task", [tenant_async, tenant_plain], ids=lambda task: task.name)
def test_middleware_shares_the_thread_and_the_context_of_its_task(hf: Holdfast, task) -> None:
    handle = hf.enqueue(task.call("miss"))
    run(hf, mixed)
    assert handle.result(timeout=0) == f"tenant of {task.name}"
    assert len(seen) == 2
    assert len(set(seen)) == 1


def test_middleware_may_answer_in_place_of_the_task(hf: Holdfast) -> None:
    handles = hf.enqueue_many([tenant_async.call("hit"), tenant_plain.call("hit")])
    run(hf, mixed)
    assert handles[0].result(timeout=0) == "cached"
    assert handles[1].result(timeout=0) == "tenant of tenant_plain"


def test_a_plain_task_with_middleware_must_not_return_an_awaitable(
    hf: Holdfast,
) -> None:
    hf.enqueue(disguised.call())
    run(hf, recorded)
    [dead] = hf.queue("recorded").dead()
    assert "'disguised' is a plain function that returned an awaitable" in dead.reason


@pytest.mark.parametrize(
    "middleware", [around_all, AroundAll(), CallableAroundAll(), partial(around_all)]
)
@pytest.mark.parametrize(
    ("what", "result"),
    [
        ("work", "tenant of visit"),
        ("answer", "cached"),
        ("fail", "failed: KeyError: 'translated'"),
        ("sleep", "failed: RuntimeError: middleware .* awaits something other than call_next"),
    ],
)
def test_async_middleware_runs_around_plain_tasks_in_their_thread(
    hf: Holdfast, middleware, what: str, result: str
) -> None:
    tasks = TaskRegistry(middleware=[middleware])
    task = tasks.task(queue="plain", name="visit", retry=Retry(attempts=1))(visit)
    handle = hf.enqueue(task.call(what))
    run(hf, tasks)
    threads = [each for each in seen if each != "ended"]
    assert seen[-1] == "ended"
    assert len(threads) == (2 if what in ("work", "fail") else 1)
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()
    if what in ("work", "answer"):
        assert handle.result(timeout=0) == result
    else:
        [dead] = hf.queue("plain").dead()
        assert re.match(result, dead.reason)


@pytest.mark.parametrize("is_async", [True, False])
def test_what_a_middleware_passes_does_not_reach_the_task(hf: Holdfast, is_async: bool) -> None:
    """In other libraries `call_next` takes the request; here the task must not get it."""

    def passes(task: RunningTask, call_next) -> object:
        return call_next(task)

    tasks = TaskRegistry(middleware=[passes])

    def asynchronous(number: object = 1) -> None:
        seen.append(number)

    def plain(number: object = 1) -> None:
        seen.append(number)

    task = tasks.task(retry=Retry(attempts=1))(asynchronous if is_async else plain)
    handle = hf.enqueue(task.call())
    run(hf, tasks)
    assert seen == []
    status = handle.status()
    assert "takes 0 positional arguments but 1 was given" in (status.reason or "")
