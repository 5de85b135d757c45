"""What a worker logs of tasks that another program named."""

import asyncio
import logging
import secrets
import time

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    AsyncTaskHandle,
    GiveUp,
    Holdfast,
    Retry,
    RetryAfter,
    TaskRegistry,
    current_task,
)

# What a worker logs of tasks that another program named

FORGED = "odd\n2026-11-22 10:00:00 INFO all is well\r\x1b[31m\u202e"


def test_a_record_of_a_task_is_a_line(standalone: Server, caplog: pytest.LogCaptureFixture) -> None:
    registry = TaskRegistry()

    @registry.task(queue=FORGED, name=FORGED, retry=Retry(attempts=1))
    def fail() -> None:
        raise ValueError(FORGED)

    space = f"log-{secrets.token_hex(4)}"
    caplog.set_level(logging.INFO)
    with Holdfast.from_url(standalone.url, namespace=space) as hf:
        hf.enqueue(fail.call())
        hf.worker(registry).run(until_idle=True)
    records = [record for record in caplog.records if hasattr(record, "holdfast_task")]
    assert [record.holdfast_task for record in records] == [FORGED]
    assert all(record.getMessage().isprintable() for record in records)
    assert r"odd\n2026-11-22" in records[0].getMessage()


def test_only_an_outcome_that_surprises_has_a_traceback(
    standalone: Server, caplog: pytest.LogCaptureFixture
) -> None:
    registry = TaskRegistry()

    @registry.task(retry=Retry(attempts=2))
    async def end(how: str) -> None:
        if how == "give up":
            raise GiveUp("no such address")
        if how == "later":
            raise RetryAfter(0.01)
        try:
            int(how)
        except ValueError as error:
            raise GiveUp("because of an error") from (error if how == "error" else None)

    async def run() -> None:
        namespace = f"log-{secrets.token_hex(4)}"
        async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
            for how in ("give up", "later", "error", "without its cause"):
                await hf.enqueue(end.call(how))
            await hf.worker(registry).run(until_idle=True)

    try:
        int("no number")
    except ValueError:  # the worker runs while this is handled
        asyncio.run(run())
    attempts = [record for record in caplog.records if hasattr(record, "holdfast_task")]
    assert len(attempts) == 5
    with_traceback = [record.getMessage() for record in attempts if record.exc_info]
    assert len(with_traceback) == 1
    assert "because of an error" in with_traceback[0]


def test_a_step_of_a_task_that_was_taken_away_has_no_traceback(
    standalone: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """The server has forgotten the task: no line of it explains that."""
    registry, space = TaskRegistry(), f"log-{secrets.token_hex(4)}"

    @registry.task()
    def forgotten() -> None:
        with standalone.client() as raw:
            raw.delete(*raw.scan_iter(f"{space}:*"))
        current_task().step("charge", int)

    with Holdfast.from_url(standalone.url, namespace=space) as hf:
        hf.enqueue(forgotten.call())
        hf.worker(registry).run(until_idle=True)
    [attempt] = [record for record in caplog.records if hasattr(record, "holdfast_task")]
    assert "does not hold the task any more" in attempt.getMessage()
    assert attempt.exc_info is None


# An idle worker costs the server next to nothing, and still wakes at once

tasks = TaskRegistry()
started: list[float] = []


@tasks.task(queue="idle")
async def note() -> None:
    started.append(time.monotonic())


crowded_tasks = TaskRegistry()


@crowded_tasks.task(queue="crowded")
async def arrive() -> None:
    started.append(time.monotonic())


@crowded_tasks.task(queue="filled")
async def fill() -> None:
    await asyncio.sleep(60)


async def test_an_idle_worker_sends_at_most_three_commands_a_second(standalone: Server) -> None:
    """Counted by the server, those inside its scripts and pings for its schedules included."""
    async with AsyncHoldfast.from_url(standalone.url, namespace="idle") as hf:
        worker = hf.worker(tasks)
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(1.5)
        before, began = commands(standalone), time.monotonic()
        await asyncio.sleep(6)
        spent = commands(standalone) - before
        worker.stop()
        await running
    assert spent <= 3 * (time.monotonic() - began)


async def test_a_worker_that_missed_its_notification_finds_the_task_by_itself(
    standalone: Server, proxy: Proxy
) -> None:
    """A lost hint costs a second or so, never a task."""
    started.clear()
    async with (
        AsyncHoldfast.from_url(proxy.url, namespace="deaf") as deaf,
        AsyncHoldfast.from_url(standalone.url, namespace="deaf") as hf,
    ):
        worker = deaf.worker(tasks)
        running = asyncio.create_task(worker.run())
        await hf.enqueue(note.call())
        await eventually_async(lambda: len(started) == 1)
        await eventually_async(lambda: waiting(hf, 1))
        dropped = proxy.drop_pushes(1)
        await hf.enqueue(note.call())
        await eventually_async(lambda: len(started) == 2)
        await eventually_async(lambda: dropped.fired)
        worker.stop()
        await running


async def test_one_of_many_waiting_workers_is_woken(standalone: Server) -> None:
    started.clear()
    async with AsyncHoldfast.from_url(standalone.url, namespace="many") as hf:
        workers = [hf.worker(tasks, concurrency=1) for _ in range(5)]
        running = [asyncio.create_task(worker.run()) for worker in workers]
        await eventually_async(lambda: waiting(hf, 5))
        await hf.enqueue_many([note.call() for _ in range(50)])
        await eventually_async(lambda: len(started) == 50)
        for worker in workers:
            worker.stop()
        await asyncio.gather(*running)
        stats = await hf.queue("idle").stats()
        assert (stats.running, stats.waiting_workers) == (0, 0)


async def test_a_notification_to_a_full_worker_makes_no_task_late(standalone: Server) -> None:
    """It has waited longest, so it is notified, and can do nothing."""
    # It is looked for again within a second; but a machine may stand still for longer.
    await eventually_async(lambda: begins_in_time(standalone))


async def begins_in_time(server: Server) -> bool:
    """Return whether a task starts when it is due, though the notified worker is full."""
    started.clear()
    namespace = f"crowd-{secrets.token_hex(4)}"
    async with AsyncHoldfast.from_url(server.url, namespace=namespace) as hf:
        await hf.enqueue(arrive.call().options(delay=3600.0))  # else the other one looks closer
        full = hf.worker(crowded_tasks, concurrency=1)
        other = hf.worker(crowded_tasks, queues={"crowded": 1})
        running = [asyncio.create_task(full.run())]
        await eventually_async(lambda: waiting(hf, 1, "crowded"))
        filling = await hf.enqueue(fill.call())
        await eventually_async(lambda: is_running(filling))
        running.append(asyncio.create_task(other.run()))
        await eventually_async(lambda: waiting(hf, 2, "crowded"))
        due = time.monotonic() + 0.5
        await hf.enqueue(arrive.call().options(delay=0.5))
        await eventually_async(lambda: started)
        full.stop(grace=0)
        other.stop()
        await asyncio.gather(*running)
    return started[0] - due < 2


async def waiting(hf: AsyncHoldfast, workers: int, queue: str = "idle") -> bool:
    """Return whether so many workers wait."""
    return (await hf.queue(queue).stats()).waiting_workers == workers


async def is_running(handle: AsyncTaskHandle[None]) -> bool:
    """Return whether a worker runs that task."""
    return (await handle.status()).state == "running"


def commands(server: Server) -> int:
    """Return the number of commands that the server has run, without this one."""
    return int(server.execute("INFO", "stats")["total_commands_processed"]) - 1
