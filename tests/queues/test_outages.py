"""What a worker reports while a server is away, and while a task blocks it."""

import asyncio
import logging
import secrets
import time

import pytest

from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import AsyncHoldfast, TaskRegistry, WorkerHealth
from holdfast.core.names import Namespace
from holdfast.queues.worker import server_contact
from holdfast.queues.worker.outages import Outages

tasks = TaskRegistry()


@tasks.task(queue="calm")
async def rest(seconds: float) -> None:
    await asyncio.sleep(seconds)


@tasks.task(queue="calm")
async def block(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 (the test is about that)


UNITS = [Namespace.of("n").unit("queue", f"q{n}") for n in range(8)]


def logged(caplog: pytest.LogCaptureFixture, level: int) -> list[str]:
    """Return the messages of a level."""
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def test_an_outage_is_logged_at_once_and_again_and_once_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    outages = Outages("w", lambda unit: "h:6379", repeat_s=0.2)
    outages.failed(UNITS[0], "h:6379: refused")
    outages.failed(UNITS[0], "h:6379: refused")
    [first] = logged(caplog, logging.WARNING)
    assert "worker w cannot claim tasks of queue 'q0' since 2" in first
    time.sleep(0.25)
    outages.failed(UNITS[0], "h:6379: no answer within 5 s")
    outages.failed(UNITS[0], "h:6379: no answer within 5 s")
    assert len(logged(caplog, logging.WARNING)) == 2
    assert "no answer within 5 s; asking until it answers" in logged(caplog, logging.WARNING)[1]
    assert outages.problems() == ["queue 'q0': h:6379: no answer within 5 s, for 0 s"]
    outages.answered(UNITS[0])
    outages.answered(UNITS[0])
    assert len(logged(caplog, logging.INFO)) == 1
    assert outages.problems() == []


def test_the_reason_of_an_outage_names_the_server_once(caplog: pytest.LogCaptureFixture) -> None:
    outages = Outages("w", lambda unit: "h:6379")
    outages.failed(UNITS[0], "h:6379: Error 111 connecting to h:6379. Connection refused.")
    [text] = logged(caplog, logging.WARNING)
    assert text.endswith("(0 s): h:6379: Connection refused; asking until it answers")
    assert outages.problems() == ["queue 'q0': h:6379: Connection refused, for 0 s"]


def test_queues_of_one_server_share_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    """Fifty queues do not log fifty lines a minute."""
    caplog.set_level(logging.INFO)
    outages = Outages("w", lambda unit: "h:6379", repeat_s=0.1)
    for unit in UNITS:
        outages.failed(unit, "refused")
    assert len(logged(caplog, logging.WARNING)) == 1
    time.sleep(0.15)
    outages.failed(UNITS[0], "refused")
    assert "'q4' and 3 more since" in logged(caplog, logging.WARNING)[1]
    for unit in UNITS[1:]:
        outages.answered(unit)
    assert logged(caplog, logging.INFO) == []
    outages.answered(UNITS[0])
    assert len(logged(caplog, logging.INFO)) == 1


def test_another_server_and_a_damaged_queue_have_outages_of_their_own(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outages = Outages("w", {UNITS[0]: "a", UNITS[1]: "b", UNITS[2]: "a"}.__getitem__)
    outages.failed(UNITS[0], "refused")
    outages.failed(UNITS[1], "refused")
    outages.failed(UNITS[2], "a key is of another type", alone=True)
    assert len(logged(caplog, logging.WARNING)) == 3


async def test_a_worker_without_a_free_slot_notices_an_outage(
    standalone: Server, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It claims nothing, so it asks the server only to know that it is there."""
    monkeypatch.setattr(server_contact, "CONTACT_S", 0.5)
    namespace = f"full-{secrets.token_hex(4)}"
    async with AsyncHoldfast.from_url(f"{proxy.url}?socket_timeout=0.5", namespace=namespace) as hf:
        await hf.enqueue(rest.call(60.0))
        worker = hf.worker(tasks, concurrency=1, queues={"calm": 1})
        running = asyncio.create_task(worker.run())
        await eventually_async(lambda: worker.health().state == "serving")
        await eventually_async(lambda: is_full(hf))
        assert not worker.health().not_ready()
        with proxy.refuse():
            await eventually_async(lambda: worker.health().problems)
            assert "queue 'calm'" in worker.health().not_ready()
        await eventually_async(lambda: not worker.health().not_ready())
        worker.stop(grace=0)
        assert worker.health().not_ready() == "the worker is stopping"
        await running
        assert worker.health() == WorkerHealth("stopped")


async def is_full(hf: AsyncHoldfast) -> bool:
    """Return whether the task runs."""
    return (await hf.queue("calm").stats()).running == 1


async def test_a_task_that_blocks_the_loop_is_seen_from_outside(standalone: Server) -> None:
    namespace = f"blocked-{secrets.token_hex(4)}"
    seen: list[WorkerHealth] = []
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        await hf.enqueue(block.call(2.0))
        worker = hf.worker(tasks)
        thread = asyncio.create_task(asyncio.to_thread(look, worker.health, seen))
        await worker.run(until_idle=True)
        await thread
    longest = max(seen, key=lambda health: health.blocked_s)
    assert longest.not_alive(1.0).startswith("a task has blocked the event loop for ")
    assert not longest.not_alive()


def look(health: object, seen: list[WorkerHealth]) -> None:
    """Collect what a worker reports for a while."""
    for _ in range(50):
        seen.append(health())  # type: ignore[operator]
        time.sleep(0.05)


async def test_a_queue_that_no_task_names_is_listed_once_it_has_tasks(standalone: Server) -> None:
    """Its name may be a typing error: it must not stay in every list for a month."""
    namespace = f"typo-{secrets.token_hex(4)}"
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        worker = hf.worker(tasks, queues={"calm": 1, "clam": 1})
        running = asyncio.create_task(worker.run())
        await eventually_async(lambda: has_queues(hf))
        assert await hf.queues() == ["calm"]
        worker.stop()
        await running


async def has_queues(hf: AsyncHoldfast) -> bool:
    """Return whether a queue is listed, and the worker, which comes after."""
    return bool(await hf.queues()) and bool(await hf.workers())
