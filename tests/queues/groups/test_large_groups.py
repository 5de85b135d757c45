"""Groups of 100,000 members: memory and time are linear, and no script is above 5 ms."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from faults.servers import Server
from faults.waiting import eventually_async
from holdfast import GROUP_ID, AsyncGroupHandle, AsyncHoldfast, NoSuchGroup, TaskRegistry
from queues.groups.slow_scripts import (
    OPTIONS,
    ScriptCalls,
    allocator,
    noise,
    run_first,
    slow_times,
    too_slow,
)

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

FEW, MANY = 10_000, 100_000

NEAR = 1.2
"""Times the memory of a member of a small group that one of a large group takes at most."""

NEAR_CPU = 1.5
"""The same for the processor time of the server, which other processes disturb."""

tasks = TaskRegistry()


@tasks.task(queue="parts", result_ttl=0)
async def part(n: int) -> int:
    return n


@tasks.task(queue="callbacks")
async def end(group_id: str) -> str:
    return group_id


class Cost(NamedTuple):
    """What a group costs the server for each member.

    Attributes:
        queued: bytes before the members run.
        ended: bytes after they ran.
        cpu_us: processor time of the server, from the call until the group has ended.
        elapsed_us: the same by the clock.
    """

    queued: float
    ended: float
    cpu_us: float
    elapsed_us: float


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(*OPTIONS, env=allocator()) as server:
        run_first(server)
        yield server


async def work(hf: AsyncHoldfast) -> None:
    """Run everything that there is to do."""
    worker = hf.worker(tasks, queues={"parts": 1, "callbacks": 1}, concurrency=100)
    await worker.run(until_idle=True)


async def enqueue(hf: AsyncHoldfast, members: int, **options: Any) -> AsyncGroupHandle[Any]:
    expires = options.pop("expires", None)
    calls = [part.call(n) for n in range(members)]
    if expires is not None:
        calls = [call.options(expires=expires) for call in calls]
    callbacks = {"then": end.call(GROUP_ID), "on_failure": end.call(GROUP_ID)}
    return await hf.enqueue_group(calls, **callbacks, **options)


def stored_bytes(server: Server) -> int:
    """Return the memory of all keys."""
    client = server.shared_client
    return sum(client.memory_usage(key, samples=0) or 0 for key in client.scan_iter(count=1000))


def cpu_s(server: Server) -> float:
    """Return the processor seconds of the server's main thread."""
    found = server.execute("INFO", "cpu")
    return float(found["used_cpu_user_main_thread"]) + float(found["used_cpu_sys_main_thread"])


async def cost_of(hf: AsyncHoldfast, server: Server, members: int) -> Cost:
    """Run a group to its end."""
    server.execute("FLUSHALL", "SYNC")
    cpu, started = cpu_s(server), time.monotonic()
    handle = await enqueue(hf, members)
    cpu, elapsed = cpu_s(server) - cpu, time.monotonic() - started
    queued, empty = stored_bytes(server), (cpu_s(server), time.monotonic())
    await work(hf)
    cpu, elapsed = cpu + cpu_s(server) - empty[0], elapsed + time.monotonic() - empty[1]
    status = await handle.wait(60.0)
    assert (status.state, status.done, status.then) == ("done", members, "done")
    values = [queued, stored_bytes(server), cpu * 1e6, elapsed * 1e6]
    return Cost(*(value / members for value in values))


async def test_memory_and_time_are_linear(server: Server) -> None:
    async with AsyncHoldfast.from_url(server.url) as hf:
        await cost_of(hf, server, 1000)  # connects, and has the server learn the scripts
        few, many = await cost_of(hf, server, FEW), await cost_of(hf, server, MANY)
    print(f"for each of {FEW:,} members {few}\nfor each of {MANY:,} members {many}")
    assert many.queued <= NEAR * few.queued
    assert many.ended <= NEAR * few.ended
    assert many.cpu_us <= NEAR_CPU * few.cpu_us


async def test_no_script_takes_5_ms(server: Server) -> None:
    """Groups run to their end, are cancelled, are purged, expire, and have members that expire.

    Everything happens twice, because a script that is slow by itself is slow both times.
    """
    telemetry = ScriptCalls(server)
    async with AsyncHoldfast.from_url(server.url, telemetry=telemetry) as hf:
        queue = hf.queue("parts")
        for _ in range(2):
            done = await enqueue(hf, MANY)
            await work(hf)
            assert (await done.wait(60.0)).done == MANY
            assert len([each.value async for each in done.results()]) == MANY

            cancelled = await enqueue(hf, MANY)
            assert await cancelled.cancel()
            await work(hf)
            assert (await cancelled.status()).cancelled == MANY

            failed = await enqueue(hf, MANY, expires=0.001)
            await work(hf)
            assert (await failed.wait(60.0)).dead == MANY
            assert await queue.replay() == 1000
            await queue.purge()
            assert await queue.purge(dead=True) == MANY - 1000

            expired = await enqueue(hf, MANY, lifetime=3.0)
            await eventually_async(partial(is_gone, expired), 60)
            await work(hf)
    times = slow_times(server)
    print("calls:", dict(telemetry.counts))
    print("above 5 ms by the clock:", {name: sorted(found) for name, found in times.items()})
    print("above 5 ms of processor time:", dict(+telemetry.slow))
    assert too_slow(times, telemetry, noise(server)) == {}


async def is_gone(handle: AsyncGroupHandle[Any]) -> bool:
    try:
        await handle.status()
    except NoSuchGroup:
        return True
    return False
