"""What operators ask of a client: workers, servers, and the pace of queues."""

import itertools
import time
from datetime import UTC, datetime, timedelta

import pytest

from client.background_worker import working
from conftest import Site
from faults.servers import Server
from holdfast import (
    AsyncHoldfast,
    Retry,
    ServerUnavailable,
    TaskFailed,
    TaskRegistry,
    WorkerStatus,
)

tasks = TaskRegistry()


@tasks.task(queue="paced", retry=Retry(attempts=2, backoff=0.001))
def paced(*, well: bool) -> None:
    if not well:
        raise ValueError("it fails on purpose")


async def test_a_queue_knows_its_pace(hf: AsyncHoldfast, site: Site) -> None:
    """Tasks done, attempts to be repeated, tasks given up; by minute, the oldest first."""
    queue = hf.queue("paced")
    await hf.enqueue_many([paced.call(well=True) for _ in range(70)])
    await hf.enqueue(paced.call(well=False))
    with working(site, tasks):
        handle = await hf.enqueue(paced.call(well=False).options(task_id="last"))
        with pytest.raises(TaskFailed, match="it fails on purpose"):
            await handle.result(timeout=30)
        deadline = time.monotonic() + 60
        while (await queue.stats()).dead < 2:
            assert time.monotonic() < deadline
    throughput = await queue.throughput(5)
    assert sum(minute.done for minute in throughput) == 70
    assert sum(minute.retried for minute in throughput) == 2
    assert sum(minute.dead for minute in throughput) == 2
    steps = {after.start - before.start for before, after in itertools.pairwise(throughput)}
    assert (len(throughput), steps) == (5, {timedelta(minutes=1)})
    assert throughput[-1].start <= datetime.now(UTC) + timedelta(minutes=1)
    assert [minute.done for minute in await hf.queue("unknown").throughput(2)] == [0, 0]


@pytest.mark.parametrize("minutes", [0, 121])
async def test_a_pace_is_kept_for_two_hours(hf: AsyncHoldfast, minutes: int) -> None:
    with pytest.raises(ValueError, match="minutes must be 1 to 120"):
        await hf.queue("paced").throughput(minutes)


async def test_stats_show_since_when_the_oldest_task_waits(hf: AsyncHoldfast) -> None:
    queue, before = hf.queue("lines"), datetime.now(UTC)
    assert (await queue.stats()).oldest_at is None
    registry = TaskRegistry()

    @registry.task(queue="lines")
    def hides(**more: int) -> None: ...

    await hf.enqueue(hides.call(ts=1).options(delay=3600.0))
    assert (await queue.stats()).oldest_at is None
    await hf.enqueue(hides.call(ts=1).options(priority="low"))
    await hf.enqueue(hides.call(ts=1).options(priority="high"))
    oldest_at = (await queue.stats()).oldest_at
    assert oldest_at is not None
    assert before - timedelta(milliseconds=1) <= oldest_at <= datetime.now(UTC)


async def test_workers_are_listed_while_they_run(hf: AsyncHoldfast, site: Site) -> None:
    assert await hf.workers() == []
    with working(site, tasks, queues={"paced": 3, "else": 1}, concurrency=7) as worker:
        [found] = await hf.workers()
    assert await hf.workers() == []
    assert isinstance(found, WorkerStatus)
    assert (found.name, found.concurrency) == (worker.name, 7)
    assert found.queues == {"paced": 3, "else": 1}
    assert (found.running, 0 <= found.silent < 30) == (0, True)
    assert abs(datetime.now(UTC) - found.started_at) < timedelta(minutes=1)


async def test_foreign_data_among_the_workers_is_left_out(hf: AsyncHoldfast, site: Site) -> None:
    prefix = f"{site.namespace}:{{workers:%}}:"
    site.client.zadd(f"{prefix}seen", {b"\xff": 1, b"two": 2})
    site.client.hset(f"{prefix}fleet", b"two", b'{"queues": 1}')
    assert await hf.workers() == []


async def test_servers_are_described(hf: AsyncHoldfast, site: Site) -> None:
    found = await hf.servers()
    restricted = "secret@" in site.url
    topology, primaries, replicas = site.shape
    assert (hf.topology, len(found)) == (topology, primaries)
    for server in found:
        assert (server.software in ("valkey", "redis"), server.version != "") == (True, True)
        assert (server.memory > 0, server.clients > 0, server.keys >= 0) == (True, True, True)
        assert (server.eviction, server.persists) == ("noeviction", True)
        assert len(server.replicas) == replicas
        assert (server.slow is None) == restricted


async def test_slow_commands_are_reported_without_contents(fresh_server: Server) -> None:
    """The command and its key, that of a script as well."""
    with fresh_server.client() as client:
        client.config_set("slowlog-log-slower-than", 0)
        client.set("key", "secret")
        client.eval("return 1", 1, "touched", "secret")
    async with AsyncHoldfast.from_url(fresh_server.url) as hf:
        [server] = await hf.servers()
        assert server.slow is not None
        slow_commands = {(slow.command, slow.key) for slow in server.slow}
        assert {("SET", "key"), ("EVAL", "touched")} <= slow_commands
        assert "secret" not in str(server)


async def test_a_server_that_is_away_is_reported() -> None:
    async with AsyncHoldfast.from_url("redis://127.0.0.1:1") as hf:
        with pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:1"):
            await hf.servers()
        with pytest.raises(ServerUnavailable):
            await hf.workers()
