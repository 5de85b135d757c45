"""However a worker ends, nobody waits for what it held."""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import time

from faults.proxy import Proxy
from faults.servers import Server
from holdfast import AsyncHoldfast, TaskRegistry

tasks = TaskRegistry()
ran: list[int] = []


@tasks.task(queue="stop")
async def note(n: int) -> None:
    ran.append(n)


@tasks.task(queue="stop")
async def long() -> None:
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


async def test_a_worker_that_is_stopped_ends_though_the_server_is_away(proxy: Proxy) -> None:
    """After its grace; the leases end by themselves."""
    async with AsyncHoldfast.from_url(
        f"{proxy.url}?socket_timeout=0.5", namespace=secrets.token_hex(4)
    ) as hf:
        worker = hf.worker(tasks, grace=0.2)
        running = asyncio.create_task(worker.run())
        await hf.enqueue(note.call(1))
        await asyncio.sleep(0.5)
        with proxy.refuse():
            await asyncio.sleep(0.5)
            began = time.monotonic()
            worker.stop()
            await asyncio.wait_for(running, 60)
            assert time.monotonic() - began < 40


async def test_a_stopped_worker_with_free_places_does_not_spin(standalone: Server) -> None:
    """While it waits for what runs, others get their turn."""
    async with AsyncHoldfast.from_url(standalone.url, namespace=secrets.token_hex(4)) as hf:
        worker = hf.worker(tasks, concurrency=4, grace=0.5)
        running = asyncio.create_task(worker.run())
        await hf.enqueue(long.call())
        await asyncio.sleep(0.5)
        worker.stop()
        before = time.process_time()
        await asyncio.wait_for(running, 30)
        assert time.process_time() - before < 2
        assert (await hf.queue("stop").stats()).ready == 1
