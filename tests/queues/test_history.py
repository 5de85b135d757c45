"""The history of tasks that are running when they end otherwise."""

import asyncio
import secrets
import textwrap
from pathlib import Path

from faults.processes import Process
from faults.servers import Server
from faults.waiting import eventually, eventually_async
from holdfast import AsyncHoldfast, Holdfast, TaskRegistry
from holdfast.testing.background_worker import BackgroundWorker
from queues.history_tasks import began, hang, tasks


async def test_a_running_task_that_is_cancelled_has_its_worker(standalone: Server) -> None:
    began.clear()
    async with AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        worker = hf.worker(tasks)
        running = asyncio.create_task(worker.run())
        handle = await hf.enqueue(hang.call())
        await eventually_async(lambda: bool(began))
        assert await handle.cancel()
        worker.stop()
        await asyncio.wait_for(running, 60)
        [ended] = await hf.queue("ended").history()
        assert (ended.task, ended.outcome, ended.attempts) == ("hang", "cancelled", 1)
        assert (ended.worker, ended.duration) == (worker.name, None)


async def test_a_task_that_is_given_back_has_not_ended(standalone: Server) -> None:
    began.clear()
    async with AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        worker = hf.worker(tasks)
        running = asyncio.create_task(worker.run())
        await hf.enqueue(hang.call())
        await eventually_async(lambda: bool(began))
        worker.stop(grace=0)
        await asyncio.wait_for(running, 60)
        assert await hf.queue("ended").history() == []


CRASHING = textwrap.dedent("""
    import os, sys
    from holdfast import Holdfast, TaskRegistry

    tasks = TaskRegistry()

    @tasks.task(queue="ended")
    def crash() -> None:
        print("crashes", flush=True)
        os._exit(9)

    with Holdfast.from_url(sys.argv[1], namespace=sys.argv[2]) as hf:
        hf.worker(tasks, lease=1.0).run()
""")


crashing = TaskRegistry()


@crashing.task(queue="ended")
def crash() -> None: ...


def test_a_crashed_task_has_its_last_worker(standalone: Server, tmp_path: Path) -> None:
    path, namespace = tmp_path / "crashing.py", secrets.token_hex(4)
    path.write_text(CRASHING)
    with Holdfast.from_url(standalone.url, namespace=namespace) as hf:
        handle = hf.enqueue(crash.call())
        for attempt in range(1, 4):
            with Process.python(path, standalone.url, namespace) as process:
                assert process.wait(60) == 9
            assert handle.status().attempts == attempt
        worker = handle.status().worker
        with BackgroundWorker(hf.worker(tasks, lease=1.0)):
            eventually(lambda: handle.status().state == "dead")
        [ended] = hf.queue("ended").history()
        assert (ended.task, ended.outcome, ended.crashes) == ("crash", "crashed", 3)
        assert (ended.worker, ended.duration) == (worker, None)
