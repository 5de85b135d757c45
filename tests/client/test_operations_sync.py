# Generated from test_operations_async.py by tools/unasync.py: edit that, then run `make sync`.
"""What operators ask of a client: workers, servers, and the pace of queues."""

import itertools
import time
from datetime import UTC, datetime, timedelta

import pytest

from client.background_worker import working
from conftest import Site
from faults.servers import Server
from holdfast import (
    Holdfast,
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


def test_a_queue_knows_its_pace(hf: Holdfast, site: Site) -> None:
    """Tasks done, attempts to be repeated, tasks given up; by minute, the oldest first."""
    queue = hf.queue("paced")
    hf.enqueue_many([paced.call(well=True) for _ in range(70)])
    hf.enqueue(paced.call(well=False))
    with working(site, tasks):
        handle = hf.enqueue(paced.call(well=False).options(task_id="last"))
        with pytest.raises(TaskFailed, match="it fails on purpose"):
            handle.result(timeout=30)
        deadline = time.monotonic() + 60
        while (queue.stats()).dead < 2:
            assert time.monotonic() < deadline
    throughput = queue.throughput(5)
    assert sum(minute.done for minute in throughput) == 70
    assert sum(minute.retried for minute in throughput) == 2
    assert sum(minute.dead for minute in throughput) == 2
    steps = {after.start - before.start for before, after in itertools.pairwise(throughput)}
    assert (len(throughput), steps) == (5, {timedelta(minutes=1)})
    assert throughput[-1].start <= datetime.now(UTC) + timedelta(minutes=1)
    assert [minute.done for minute in hf.queue("unknown").throughput(2)] == [0, 0]


@pytest.mark.parametrize("minutes", [0, 121])
def test_a_pace_is_kept_for_two_hours(hf: Holdfast, minutes: int) -> None:
    with pytest.raises(ValueError, match="minutes must be 1 to 120"):
        hf.queue("paced").throughput(minutes)


def test_stats_show_since_when_the_oldest_task_waits(hf: Holdfast) -> None:
    queue, before = hf.queue("lines"), datetime.now(UTC)
    assert (queue.stats()).oldest_at is None
    registry = TaskRegistry()

    @registry.task(queue="lines")
    def hides(**more: int) -> None: ...

    hf.enqueue(hides.call(ts=1).options(delay=3600.0))
    assert (queue.stats()).oldest_at is None
    hf.enqueue(hides.call(ts=1).options(priority="low"))
    hf.enqueue(hides.call(ts=1).options(priority="high"))
    oldest_at = (queue.stats()).oldest_at
    assert oldest_at is not None
    assert before - timedelta(milliseconds=1) <= oldest_at <= datetime.now(UTC)


def test_workers_are_listed_while_they_run(hf: Holdfast, site: Site) -> None:
    assert hf.workers() == []
    with working(site, tasks, queues={"paced": 3, "else": 1}, concurrency=7) as worker:
        [found] = hf.workers()
    assert hf.workers() == []
    assert isinstance(found, WorkerStatus)
    assert (found.name, found.concurrency) == (worker.name, 7)
    assert found.queues == {"paced": 3, "else": 1}
    assert (found.running, 0 <= found.silent < 30) == (0, True)
    assert abs(datetime.now(UTC) - found.started_at) < timedelta(minutes=1)


def test_foreign_data_among_the_workers_is_left_out(hf: Holdfast, site: Site) -> None:
    prefix = f"{site.namespace}:{{workers:%}}:"
    site.client.zadd(f"{prefix}seen", {b"\xff": 1, b"two": 2})
    site.client.hset(f"{prefix}fleet", b"two", b'{"queues": 1}')
    assert hf.workers() == []


def test_servers_are_described(hf: Holdfast, site: Site) -> None:
    found = hf.servers()
    restricted = "secret@" in site.url
    topology, primaries, replicas = site.shape
    assert (hf.topology, len(found)) == (topology, primaries)
    for server in found:
        assert (server.software in ("valkey", "redis"), server.version != "") == (True, True)
        assert (server.memory > 0, server.clients > 0, server.keys >= 0) == (True, True, True)
        assert (server.eviction, server.persists) == ("noeviction", True)
        assert len(server.replicas) == replicas
        assert (server.slow is None) == restricted


def test_slow_commands_are_reported_without_contents(fresh_server: Server) -> None:
    """The command and its key, that of a script as well."""
    with fresh_server.client() as client:
        client.config_set("slowlog-log-slower-than", 0)
        client.set("key", "secret")
        client.eval("return 1", 1, "touched", "secret")
    with Holdfast.from_url(fresh_server.url) as hf:
        [server] = hf.servers()
        assert server.slow is not None
        slow_commands = {(slow.command, slow.key) for slow in server.slow}
        assert {("SET", "key"), ("EVAL", "touched")} <= slow_commands
        assert "secret" not in str(server)


def test_a_server_that_is_away_is_reported() -> None:
    with Holdfast.from_url("redis://127.0.0.1:1") as hf:
        with pytest.raises(ServerUnavailable, match=r"127\.0\.0\.1:1"):
            hf.servers()
        with pytest.raises(ServerUnavailable):
            hf.workers()
