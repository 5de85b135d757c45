"""The lifespan of a worker runs once around all its tasks, however the worker ends."""

import asyncio
import logging
import secrets
import signal
import textwrap
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import (
    AsyncHoldfast,
    Holdfast,
    LifespanFailed,
    TaskRegistry,
    WorkerInfo,
    current_task,
)

seen: list[object] = []


@asynccontextmanager
async def lifespan(worker: WorkerInfo) -> AsyncIterator[Mapping[str, Any]]:
    seen.append(worker)
    await asyncio.sleep(0.01)
    yield {"pool": "a pool"}
    await asyncio.sleep(0.01)
    seen.append("ended")


@contextmanager
def plain_lifespan(worker: WorkerInfo) -> Iterator[Mapping[str, Any]]:
    seen.append(worker)
    yield {"pool": "a pool"}
    seen.append("ended")


tasks = TaskRegistry(lifespan=lifespan)


@tasks.task(queue="life")
async def on_the_loop() -> None:
    seen.append(current_task().state["pool"])


@tasks.task(queue="life")
def in_a_thread() -> None:
    seen.append(current_task().state["pool"])


@tasks.task(queue="life")
async def hang() -> None:
    seen.append("hangs")
    try:
        await asyncio.sleep(60)
    finally:
        seen.append("stopped")


@pytest.fixture
async def hf(standalone: Server) -> AsyncIterator[AsyncHoldfast]:
    seen.clear()
    namespace = secrets.token_hex(4)
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        yield hf


@pytest.mark.parametrize("given", [lifespan, plain_lifespan], ids=["async", "plain"])
async def test_it_runs_around_all_tasks_of_both_kinds(hf: AsyncHoldfast, given: Any) -> None:
    await hf.enqueue_many([on_the_loop.call(), in_a_thread.call()])
    worker = hf.worker(tasks.with_lifespan(given), concurrency=7)
    await worker.run(until_idle=True)
    info = WorkerInfo(worker.name, hf.namespace, {"life": 1}, 7)
    assert seen == [info, "a pool", "a pool", "ended"]
    seen.clear()
    await worker.run(until_idle=True)  # the next run has a lifespan of its own
    assert seen == [info, "ended"]


def test_it_runs_in_the_loop_of_a_blocking_worker(standalone: Server) -> None:
    seen.clear()
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        hf.enqueue_many([on_the_loop.call(), in_a_thread.call()])
        hf.worker(tasks).run(until_idle=True)
    assert seen[1:] == ["a pool", "a pool", "ended"]


async def test_without_a_lifespan_the_state_is_empty(hf: AsyncHoldfast) -> None:
    states: list[Mapping[str, Any]] = []
    plain = TaskRegistry(lifespan=lambda _: nullcontext(None))

    @plain.task(queue="life")
    async def note() -> None:
        states.append(current_task().state)

    await hf.enqueue(note.call())
    await hf.worker(plain).run(until_idle=True)
    await hf.enqueue(note.call())
    await hf.worker(plain.with_lifespan(None)).run(until_idle=True)
    assert states == [{}, {}]


@pytest.mark.parametrize("how", ["stop", "grace", "cancel", "close"])
async def test_it_ends_after_the_last_task_however_the_worker_ends(
    hf: AsyncHoldfast, how: str
) -> None:
    await hf.enqueue(hang.call())
    worker = hf.worker(tasks, grace=0.2)
    running = asyncio.create_task(worker.run())
    await eventually_async(lambda: "hangs" in seen)
    match how:
        case "stop":
            worker.stop(grace=0)
        case "grace":
            worker.stop()
        case "cancel":
            running.cancel()
        case "close":
            await hf.close()
    await asyncio.wait([running], timeout=60)
    assert running.done()
    assert seen[1:] == ["hangs", "stopped", "ended"]
    assert running.cancelled() == (how == "cancel")


async def test_a_lifespan_that_cannot_start_ends_the_worker_before_its_first_claim(
    hf: AsyncHoldfast, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def broken(worker: WorkerInfo) -> AsyncIterator[None]:
        raise ConnectionRefusedError("no database")
        yield

    await hf.enqueue(on_the_loop.call())
    worker = hf.worker(tasks.with_lifespan(broken))
    with pytest.raises(LifespanFailed, match="at its start, ConnectionRefusedError: no database"):
        await worker.run()
    stats = await hf.queue("life").stats()
    assert (stats.ready, stats.running) == (1, 0)
    assert await hf.workers() == []
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.exc_info is not None
    assert record.getMessage() == f"the lifespan of worker {worker.name} failed at its start"


async def test_a_lifespan_that_fails_at_its_end_costs_no_task(hf: AsyncHoldfast) -> None:
    @asynccontextmanager
    async def broken(worker: WorkerInfo) -> AsyncIterator[dict[str, str]]:
        yield {"pool": "a pool"}
        raise ValueError("still in use")

    handle = await hf.enqueue(on_the_loop.call())
    with pytest.raises(LifespanFailed, match="failed at its end, ValueError: still in use") as info:
        await hf.worker(tasks.with_lifespan(broken)).run(until_idle=True)
    assert (info.value.moment, info.value.reason) == ("end", "ValueError: still in use")
    assert isinstance(info.value.__cause__, ValueError)
    assert (await handle.status()).state == "done"
    assert (await hf.queue("life").stats()).running == 0


async def test_a_stop_cancels_a_lifespan_that_is_starting(hf: AsyncHoldfast) -> None:
    @asynccontextmanager
    async def slow(worker: WorkerInfo) -> AsyncIterator[None]:
        seen.append("starts")
        try:
            await asyncio.sleep(60)
            yield
        finally:
            seen.append("cleaned up")

    await hf.enqueue(on_the_loop.call())
    worker = hf.worker(tasks.with_lifespan(slow))
    running = asyncio.create_task(worker.run())
    await eventually_async(lambda: "starts" in seen)
    await asyncio.to_thread(worker.stop)
    await asyncio.wait_for(running, 30)
    assert seen == ["starts", "cleaned up"]
    assert (await hf.queue("life").stats()).ready == 1
    await asyncio.sleep(0)
    assert asyncio.current_task().cancelling() == 0


async def test_a_failed_group_of_the_lifespan_ends_the_worker(hf: AsyncHoldfast) -> None:
    async def fail() -> None:
        raise ValueError("the refresher is broken")

    @asynccontextmanager
    async def grouped(worker: WorkerInfo) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            yield

    worker = hf.worker(tasks.with_lifespan(grouped))
    with pytest.raises(LifespanFailed, match="unhandled errors in a TaskGroup"):
        await asyncio.wait_for(worker.run(), 60)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (lambda worker: nullcontext([]), "it must yield a mapping or nothing, got list"),
        (lambda worker: {}, "it must return a context manager, got dict"),
    ],
)
async def test_what_is_no_lifespan_ends_the_worker(
    hf: AsyncHoldfast, given: Any, text: str
) -> None:
    with pytest.raises(LifespanFailed, match=text):
        await hf.worker(tasks.with_lifespan(given)).run()


def test_an_undecorated_lifespan_is_refused() -> None:
    async def async_generator(worker: WorkerInfo) -> AsyncIterator[None]:
        yield

    def generator(worker: WorkerInfo) -> Iterator[None]:
        yield

    async def coroutine(worker: WorkerInfo) -> None: ...

    for given, text in [
        (async_generator, "with @asynccontextmanager"),
        (generator, "with @contextmanager"),
        (coroutine, "returns a context manager"),
        ({}, "returns a context manager"),
    ]:
        with pytest.raises(TypeError, match=text):
            TaskRegistry(lifespan=given)


PROGRAM = textwrap.dedent("""
    import sys, time
    from contextlib import asynccontextmanager
    from holdfast import Holdfast, TaskRegistry, current_task

    @asynccontextmanager
    async def lifespan(worker):
        print("starts", flush=True)
        yield {"pool": "a pool"}
        print("ends", flush=True)

    tasks = TaskRegistry(lifespan=lifespan)

    @tasks.task(queue="signals")
    def nap() -> None:
        print("runs with", current_task().state["pool"], flush=True)
        time.sleep(0.5)
        print("has run", flush=True)

    with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
        hf.enqueue(nap.call())
        hf.worker(tasks).run()
""")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_after_the_first_signal(
    standalone: Server, tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with Process.python(path, standalone.url, secrets.token_hex(4)) as process:
        process.wait_for_output("runs with a pool")
        process._signal(number)
        assert process.wait(60) == 0
        assert process.output.split("\n")[:4] == ["starts", "runs with a pool", "has run", "ends"]


APP = """
    from contextlib import contextmanager
    from holdfast import TaskRegistry

    @contextmanager
    def lifespan(worker):
        raise OSError("no database")
        yield

    tasks = TaskRegistry(lifespan=lifespan)

    @tasks.task(queue="app")
    def nothing() -> None: ...
"""


def test_the_command_shows_why_a_worker_did_not_start(standalone: Server, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(textwrap.dedent(APP))
    command = ["-m", "holdfast", "worker", "app:tasks", "--url", standalone.url]
    with Process.python(*command, env={"PYTHONPATH": str(tmp_path)}) as process:
        assert process.wait(60) == 1
        *_, last = process.output.strip().split("\n")
        assert last.startswith("holdfast: the lifespan of worker ")
        assert last.endswith("failed at its start, OSError: no database; no task was claimed")
        assert process.output.count("Traceback") == 1
