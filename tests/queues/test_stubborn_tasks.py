"""Tasks that do not play by the rules: the worker lives, and ends when it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator

import pytest

from faults.servers import Server
from holdfast import AsyncHoldfast, Retry, TaskFailed, TaskRegistry

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


@pytest.fixture
async def hf(standalone: Server) -> AsyncIterator[AsyncHoldfast]:
    began.clear()
    async with AsyncHoldfast.from_url(
        standalone.url, namespace=f"stubborn-{secrets.token_hex(4)}"
    ) as hf:
        yield hf


@pytest.mark.parametrize("task", [raises_on_the_loop, raises_in_a_thread, presses_ctrl_c])
async def test_whatever_is_raised_is_a_failure(hf: AsyncHoldfast, task: object) -> None:
    """Also what `except Exception` lets pass; and the worker ends afterwards."""
    handle = await hf.enqueue(task.call())  # type: ignore[attr-defined]
    await asyncio.wait_for(hf.worker(tasks).run(until_idle=True), 20)
    with pytest.raises(TaskFailed, match=r"failed: (Unusual|KeyboardInterrupt)"):
        await handle.result(timeout=0)


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


async def test_a_plain_task_that_was_quick_has_not_timed_out(hf: AsyncHoldfast) -> None:
    """Another one blocked the loop, so nobody noticed in time that it had ended."""
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
    async def nobody_knows() -> None: ...

    for unknown_timeout in (0, 60):
        began.clear()
        await hf.enqueue(nobody_knows.call())
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
