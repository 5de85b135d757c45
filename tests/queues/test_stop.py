"""However a worker ends, its tasks are claimed again at once."""

import asyncio
import contextlib
import random
import secrets
import signal
import textwrap
import threading
import time
from pathlib import Path

import pytest

from faults.processes import Process
from faults.proxy import Proxy
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, Holdfast, TaskRegistry

tasks = TaskRegistry()
ran: list[int] = []
started: list[str] = []


@tasks.task(queue="stop")
async def note(n: int) -> None:
    ran.append(n)


@tasks.task(queue="stop")
async def long() -> None:
    started.append("long")
    await asyncio.sleep(60)


async def test_a_cancelled_worker_gives_back_what_its_last_step_claimed(
    standalone: Server, proxy: Proxy, seed: int
) -> None:
    """Its answer was under way: the tasks are claimed, and would count as crashed."""
    ran.clear()
    dice = random.Random(seed)
    namespace = secrets.token_hex(4)
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as direct,
        AsyncHoldfast.from_url(proxy.url, namespace=namespace) as slow,
    ):
        await direct.enqueue_many([note.call(n) for n in range(5)])
        proxy.delay(0.05)
        for _ in range(5):
            running = asyncio.create_task(slow.worker(tasks).run())
            await asyncio.sleep(dice.uniform(0.05, 0.35))
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            stats = await direct.queue("stop").stats()
            assert (stats.running, stats.dead) == (0, 0)
        await direct.worker(tasks).run(until_idle=True)
        assert sorted(ran) == [0, 1, 2, 3, 4]


async def test_a_worker_that_is_stopped_ends_though_the_server_is_away(
    standalone: Server, proxy: Proxy
) -> None:
    namespace = secrets.token_hex(4)
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as direct,
        AsyncHoldfast.from_url(f"{proxy.url}?socket_timeout=0.5", namespace=namespace) as hf,
    ):
        worker = hf.worker(tasks, grace=0.2)
        running = asyncio.create_task(worker.run())
        await direct.enqueue(note.call(1))
        await asyncio.sleep(0.5)
        with proxy.refuse():
            await asyncio.sleep(0.5)
            began = time.monotonic()
            worker.stop()
            await asyncio.wait_for(running, 60)
            assert time.monotonic() - began < 40


async def test_a_stopped_worker_with_free_slots_does_not_spin(standalone: Server) -> None:
    async with AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        worker = hf.worker(tasks, concurrency=4, grace=0.5)
        running = asyncio.create_task(worker.run())
        await hf.enqueue(long.call())
        await eventually_async(lambda: is_held(hf, 1))
        worker.stop()
        before = time.process_time()
        await asyncio.wait_for(running, 60)
        assert time.process_time() - before < 2
        assert (await hf.queue("stop").stats()).ready == 1


async def test_a_worker_that_is_stopped_before_it_runs_claims_nothing() -> None:
    """It does not even connect: the server of this one does not exist. Later it may run."""
    async with AsyncHoldfast.from_url("redis://127.0.0.1:1?socket_timeout=0.2") as hf:
        worker = hf.worker(tasks, grace=0.1)
        worker.stop()
        await asyncio.wait_for(worker.run(), 60)
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(0.5)
        assert not running.done()
        worker.stop()
        await asyncio.wait_for(running, 60)


def test_a_stop_of_another_thread_is_never_lost(standalone: Server, seed: int) -> None:
    """Whether it comes before the run, at its begin or in it."""
    dice = random.Random(seed)
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        for _ in range(30):
            worker = hf.worker(tasks)
            stopping = threading.Timer(dice.uniform(0, 0.02), worker.stop)
            stopping.start()
            worker.run()
            stopping.join()


async def test_a_second_stop_may_shorten_the_grace(standalone: Server) -> None:
    async with AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        worker = hf.worker(tasks, grace=60)
        started.clear()
        running = asyncio.create_task(worker.run())
        await hf.enqueue(long.call())
        # The server knows of the claim before the worker does, which would give it back on `stop`.
        await eventually_async(lambda: bool(started))
        worker.stop()
        await asyncio.sleep(0.2)
        assert not running.done()
        worker.stop(grace=0)
        await asyncio.wait_for(running, 60)
        stats = await hf.queue("stop").stats()
        assert (stats.ready, stats.running) == (1, 0)


async def test_tasks_that_arrive_after_a_stop_are_given_back_in_order(
    standalone: Server, proxy: Proxy
) -> None:
    """Nothing starts any more, and the front of the queue is as it was."""
    ran.clear()
    namespace = secrets.token_hex(4)
    async with (
        AsyncHoldfast.from_url(standalone.url, namespace=namespace) as direct,
        AsyncHoldfast.from_url(proxy.url, namespace=namespace) as slow,
    ):
        await direct.enqueue_many([note.call(n) for n in range(20)])
        proxy.delay(1.0, "replies")
        worker = slow.worker(tasks, concurrency=10)
        running = asyncio.create_task(worker.run())
        await eventually_async(lambda: is_held(direct, 5))
        worker.stop()
        proxy.delay(0.1, "replies")  # but what is under way takes its time
        await asyncio.wait_for(running, 60)
        assert ran == []
        assert (await direct.queue("stop").stats()).ready == 20
        await direct.worker(tasks, concurrency=1).run(until_idle=True)
        assert ran == list(range(20))


async def test_what_is_given_back_is_next_again(standalone: Server) -> None:
    namespace = secrets.token_hex(4)
    async with AsyncHoldfast.from_url(standalone.url, namespace=namespace) as hf:
        queue = hf.queue("stop")
        for task_id in "ef":
            await hf.enqueue(long.call().options(task_id=task_id))
        for second, task_id in enumerate("abcd", 1):
            await hf.enqueue(long.call().options(task_id=task_id, at=1e9 + second))
        for count in (2, 5):
            worker = hf.worker(tasks, concurrency=count)
            running = asyncio.create_task(worker.run())
            await eventually_async(lambda count=count: is_held(hf, count))
            worker.stop(grace=0)
            await asyncio.wait_for(running, 60)
            assert "".join(task.task_id for task in await queue.tasks("queued")) == "abcdef"


async def is_held(hf: AsyncHoldfast, count: int) -> bool:
    """Return whether so many tasks are claimed."""
    return (await hf.queue("stop").stats()).running == count


PROGRAM = """
import asyncio, signal, sys, time
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()

@tasks.task(queue="signals")
async def takes(seconds: float) -> None:
    print("begun", flush=True)
    signalled, ends_at = False, time.monotonic() + seconds
    while time.monotonic() < ends_at:
        await asyncio.sleep(0.01)
        if not signalled and getattr(signal.getsignal(signal.SIGTERM), "received", ()):
            signalled = True
            print("signalled", flush=True)
    print("finished", flush=True)

{before}
with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
    hf.enqueue(takes.call(float(sys.argv[3])))
    usual = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    hf.worker(tasks, grace=30).run()
    assert usual == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    print("went on", flush=True)
"""


def program(folder: Path, server: Server, seconds: float, before: str = "") -> tuple[Process, str]:
    """Start a program that runs one task of so many seconds; return it and its namespace."""
    path, namespace = folder / "program.py", secrets.token_hex(4)
    path.write_text(PROGRAM.format(before=textwrap.dedent(before)))
    return Process.python(path, server.url, namespace, str(seconds)), namespace


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_lets_a_program_finish(
    standalone: Server, tmp_path: Path, number: signal.Signals
) -> None:
    process, _ = program(tmp_path, standalone, 1.0)
    with process:
        process.wait_for_output("begun")
        process._signal(number)
        assert process.wait() == 0
        assert "finished\nwent on" in process.output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_gives_back_at_once_and_ends_the_program(
    standalone: Server, tmp_path: Path, number: signal.Signals
) -> None:
    process, namespace = program(tmp_path, standalone, 60.0)
    with process, Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        process.wait_for_output("begun")
        process._signal(number)
        process.wait_for_output("signalled")  # or the two would be one
        process._signal(number)
        assert process.wait(60) == -number
        assert "went on" not in process.output
        stats = hf.queue("signals").stats()
        assert (stats.ready, stats.running) == (1, 0)


def test_a_program_keeps_its_own_handlers(standalone: Server, tmp_path: Path) -> None:
    process, _ = program(
        tmp_path,
        standalone,
        1.5,
        before="""
            signal.signal(signal.SIGTERM, lambda *_: print("own handler", flush=True))
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        """,
    )
    with process:
        process.wait_for_output("begun")
        process._signal(signal.SIGINT)
        process.terminate()
        process.wait_for_output("finished")
        assert process.is_running
        process.kill()
        assert "own handler" in process.output


FORKING = """
import multiprocessing, sys, time
from holdfast import Holdfast, TaskRegistry

tasks = TaskRegistry()

@tasks.task(queue="signals")
def forks() -> None:
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
    child.start()
    time.sleep(0.2)
    child.terminate()
    child.join(50)
    print("child ended:", child.exitcode, flush=True)
    child.kill()

with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
    hf.enqueue(forks.call())
    hf.worker(tasks).run(until_idle=True)
"""


def test_a_child_that_a_task_forks_can_be_terminated(standalone: Server, tmp_path: Path) -> None:
    path = tmp_path / "forking.py"
    path.write_text(FORKING)
    with Process.python(path, standalone.url, secrets.token_hex(4)) as process:
        assert process.wait(60) == 0
        assert f"child ended: {-signal.SIGTERM}" in process.output


def test_a_worker_in_another_thread_leaves_signals_alone(standalone: Server) -> None:
    usual = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with Holdfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        worker = hf.worker(tasks)
        running = threading.Thread(target=worker.run)
        running.start()
        eventually(lambda: hf.queue("stop").stats().waiting_workers == 1)
        assert usual == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        worker.stop()
        running.join(30)
        assert not running.is_alive()
