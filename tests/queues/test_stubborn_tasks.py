"""Tasks that misbehave: the worker survives them, and ends when it is stopped."""

import asyncio
import contextlib
import gc
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, Holdfast, Retry, TaskFailed, TaskRegistry

tasks = TaskRegistry()
ONCE = Retry(attempts=1)
began: list[str] = []


class Unusual(BaseException):
    """What some libraries end a test or a timeout with."""


@tasks.task(queue="stubborn", retry=ONCE)
async def raises_on_the_loop() -> None:
    raise Unusual("as a coroutine")


@tasks.task(queue="stubborn", retry=ONCE)
def raises_in_a_thread() -> None:
    raise Unusual("in a thread")


@tasks.task(queue="stubborn", retry=ONCE)
def presses_ctrl_c() -> None:
    raise KeyboardInterrupt


@tasks.task(queue="stubborn")
async def ignores_that_it_is_cancelled() -> None:
    began.append("ignores")
    ends_at = time.monotonic() + 8
    while time.monotonic() < ends_at:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)


@tasks.task(queue="stubborn", timeout=0.5, retry=ONCE)
def is_quick() -> str:
    began.append("quick")
    return "done in time"


@tasks.task(queue="stubborn")
async def blocks_the_loop() -> None:
    began.append("blocks")
    time.sleep(1.5)  # noqa: ASYNC251


@tasks.task(queue="stubborn")
async def note(text: str) -> None:
    began.append(text)


def hang() -> None:
    while True:
        time.sleep(0.01)


@tasks.task(queue="stubborn", timeout=0.2, retry=ONCE)
def hangs_in_a_thread() -> None:
    hang()


@tasks.task(queue="stubborn")
async def cleans_up() -> None:
    began.append("works")
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0.3)
        began.append("has cleaned up")


@tasks.task(queue="stubborn", ack="now")
async def says_at_once() -> None:
    began.append("says")
    await asyncio.sleep(0.1)


@tasks.task(queue="stubborn", ack="now")
async def is_late_and_says_so() -> None:
    began.append("late")
    ends_at = time.monotonic() + 6
    while time.monotonic() < ends_at:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.05)


@tasks.task(queue="stubborn", retry=Retry(attempts=2, backoff=0.0))
async def cancels_itself(how: str) -> str:
    began.append(how)
    task = asyncio.current_task()
    assert task is not None
    if how != "not at all":
        task.cancel()
    if how != "and returns":
        await asyncio.sleep(60)
    return how


@tasks.task(queue="stubborn", timeout=0.2, retry=ONCE)
def sleeps_in_c() -> None:
    time.sleep(1.5)


@pytest.fixture
async def hf(standalone: Server) -> AsyncIterator[AsyncHoldfast]:
    began.clear()
    async with AsyncHoldfast.from_url(
        standalone.url, namespace=f"stubborn-{secrets.token_hex(4)}"
    ) as hf:
        yield hf


@pytest.mark.parametrize("task", [raises_on_the_loop, raises_in_a_thread, presses_ctrl_c])
async def test_whatever_is_raised_is_a_failure(hf: AsyncHoldfast, task: object) -> None:
    handle = await hf.enqueue(task.call())  # type: ignore[attr-defined]
    await asyncio.wait_for(hf.worker(tasks).run(until_idle=True), 20)
    with pytest.raises(TaskFailed, match=r"failed: (Unusual|KeyboardInterrupt)"):
        await handle.result(timeout=0)


async def test_a_task_that_cancels_itself_has_failed(hf: AsyncHoldfast) -> None:
    """If it were given back as a task that the worker cancels, it would run forever."""
    waits = await hf.enqueue(cancels_itself.call("and waits"))
    returns = await hf.enqueue(cancels_itself.call("and returns"))
    await asyncio.wait_for(hf.worker(tasks).run(until_idle=True), 20)
    assert await returns.result(timeout=0) == "and returns"
    with pytest.raises(TaskFailed, match="failed: RuntimeError: the task cancelled itself"):
        await waits.result(timeout=0)
    assert sorted(began) == ["and returns", "and waits", "and waits"]


async def test_a_loop_that_ends_uses_up_no_attempt(hf: AsyncHoldfast) -> None:
    """As `asyncio.run` does, it cancels all its tasks at once."""
    handle = await hf.enqueue(cancels_itself.call("not at all"))
    own = {asyncio.current_task(), *asyncio.all_tasks()}
    running = asyncio.create_task(hf.worker(tasks).run())
    while not began:  # noqa: ASYNC110 (it is the task that says so)
        await asyncio.sleep(0.01)
    for task in asyncio.all_tasks() - own:
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait_for(running, 20)
    status = await handle.status()
    assert (status.state, status.attempts) == ("queued", 0)


async def test_a_task_that_ignores_its_cancellation_stops_no_worker(hf: AsyncHoldfast) -> None:
    """It is given back, so another worker may run it; here it runs on for a while."""
    await hf.enqueue(ignores_that_it_is_cancelled.call())
    worker = hf.worker(tasks, grace=0.2)
    running = asyncio.create_task(worker.run())
    while not began:  # noqa: ASYNC110 (it is the task that says so)
        await asyncio.sleep(0.01)
    worker.stop()
    await asyncio.wait_for(running, 20)
    stats = await hf.queue("stubborn").stats()
    assert (stats.ready, stats.running) == (1, 0)


async def test_a_settlement_that_is_under_way_at_the_end_causes_no_warning(
    hf: AsyncHoldfast, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncHoldfast.from_url(proxy.url, namespace=hf.namespace) as slow:
        handle = await hf.enqueue(says_at_once.call())
        worker = slow.worker(tasks, grace=0.3)
        running = asyncio.create_task(worker.run())
        while not began:  # noqa: ASYNC110 (it is the task that says so)
            await asyncio.sleep(0.01)
        proxy.delay(0.5, "replies")
        worker.stop()
        await asyncio.wait_for(running, 20)
    assert (await handle.status()).state == "done"
    logged = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [text for text in logged if "blocked the event loop" not in text] == []  # a slow machine


async def test_what_ends_after_it_was_given_back_breaks_nothing(
    hf: AsyncHoldfast, caplog: pytest.LogCaptureFixture
) -> None:
    await hf.enqueue(is_late_and_says_so.call())
    worker = hf.worker(tasks, grace=0.1)
    running = asyncio.create_task(worker.run())
    while not began:  # noqa: ASYNC110 (it is the task that says so)
        await asyncio.sleep(0.01)
    worker.stop()
    await asyncio.wait_for(running, 20)
    assert (await hf.queue("stubborn").stats()).ready == 1
    await eventually_async(lambda: "after it was taken away; that does not count" in caplog.text)
    assert "never retrieved" not in caplog.text
    gc.collect()  # a connection opened by then would be found here


def test_a_blocking_worker_does_not_wait_for_it_either(standalone: Server) -> None:
    began.clear()
    with Holdfast.from_url(standalone.url, namespace=f"stubborn-{secrets.token_hex(4)}") as hf:
        hf.enqueue(ignores_that_it_is_cancelled.call())
        worker = hf.worker(tasks, grace=0.2)
        running = threading.Thread(target=worker.run)
        running.start()
        eventually(lambda: began)
        stopped_at = time.monotonic()
        worker.stop()
        running.join()
        assert time.monotonic() - stopped_at < 30
        stats = hf.queue("stubborn").stats()
        assert (stats.ready, stats.running) == (1, 0)
    del running, worker
    gc.collect()  # asyncio logs that the task was destroyed: now, not during a later test


async def test_a_task_that_is_stopped_cleans_up(hf: AsyncHoldfast) -> None:
    """It is cancelled once, and may await what undoes its work."""
    await hf.enqueue(cleans_up.call())
    worker = hf.worker(tasks, grace=0.1)
    running = asyncio.create_task(worker.run())
    while not began:  # noqa: ASYNC110 (it is the task that says so)
        await asyncio.sleep(0.01)
    worker.stop()
    await asyncio.wait_for(running, 20)
    assert began == ["works", "has cleaned up"]
    assert (await hf.queue("stubborn").stats()).ready == 1


async def test_a_worker_with_only_hung_threads_reports_it(
    hf: AsyncHoldfast, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await hf.enqueue_many([sleeps_in_c.call() for _ in range(2)])
    await hf.enqueue(note.call("after"))
    await asyncio.wait_for(hf.worker(tasks, concurrency=2).run(until_idle=True), 20)
    logged = [record.getMessage() for record in caplog.records]
    [deaf] = [n for n, text in enumerate(logged) if "has no slot left: 2 plain functions" in text]
    [again] = [n for n, text in enumerate(logged) if "has a slot again" in text]
    assert deaf < again
    assert began == ["after"]


async def test_the_log_shows_where_a_plain_task_hung(
    hf: AsyncHoldfast, caplog: pytest.LogCaptureFixture
) -> None:
    """The lines of the task only; what is stored as its reason stays short."""
    handle = await hf.enqueue(hangs_in_a_thread.call())
    await asyncio.wait_for(hf.worker(tasks).run(until_idle=True), 20)
    late = "failed: TimeoutError: it took longer than its timeout, 0.2 s"
    assert (await handle.status()).reason == late
    [record] = [record for record in caplog.records if record.levelname == "ERROR"]
    logged = logging.Formatter().format(record).splitlines()
    [_, error, heading, *places] = logged
    assert error.endswith("it took longer than its timeout, 0.2 s")
    assert heading == "Its thread was here (most recent call last):"
    outer, call, inner, *_ = places
    assert (outer.endswith(" in hangs_in_a_thread"), call) == (True, "    hang()")
    assert inner.endswith(" in hang")


async def test_a_plain_task_that_was_quick_has_not_timed_out(hf: AsyncHoldfast) -> None:
    handles = await hf.enqueue_many([blocks_the_loop.call(), is_quick.call()])
    await asyncio.wait_for(hf.worker(tasks).run(until_idle=True), 20)
    assert await handles[1].result(timeout=0) == "done in time"
    assert began.count("quick") == 1


async def test_until_idle_waits_for_what_is_delayed_beside_an_unknown_task(
    hf: AsyncHoldfast,
) -> None:
    """Whether the unknown one is dead already, or parked."""
    other = TaskRegistry()

    @other.task(queue="stubborn")
    async def is_unknown() -> None: ...

    for unknown_timeout in (0, 60):
        began.clear()
        await hf.enqueue(is_unknown.call())
        await hf.enqueue(note.call("late").options(delay=0.5))
        worker = hf.worker(tasks, unknown_timeout=unknown_timeout)
        await asyncio.wait_for(worker.run(until_idle=True), 20)
        assert began == ["late"]


async def test_a_worker_without_a_server_and_without_tasks_just_goes() -> None:
    """Nothing can be lost, so nothing is waited for."""
    async with AsyncHoldfast.from_url("redis://localhost:1") as hf:
        worker = hf.worker(tasks, grace=60)
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(0.5)
        worker.stop()
        await asyncio.wait_for(running, 20)
