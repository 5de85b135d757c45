"""Test the cost of a snapshot of `holdfast top`: a bounded number of round trips."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from faults.servers import Server
from holdfast import AsyncHoldfast, Holdfast, TaskRegistry
from holdfast.cli.top.snapshot import LIMITS, LISTED, SnapshotReader

QUEUES = 300

NAMES = 2_000
"""Of each other kind."""

KINDS = ("lock", "rw_lock", "semaphore", "mailbox", "chat", "counter", "row_cache", "feed")

ROUND_TRIPS = 20
LOOKS = 3

GROWING = {"keys", "scan", "smembers", "sscan", "hscan", "zscan", "hkeys", "hvals", "sort"}
"""The cost of these commands grows with the data; `HGETALL` reads the 120 minutes of a rate."""


@pytest.fixture
def quiet() -> Iterator[Server]:
    """Yield a server without other clients, with more things than a snapshot reads."""
    with Server() as server, Holdfast.from_url(server.url, namespace="cost") as hf:
        registry = TaskRegistry()
        send = [
            registry.task(queue=f"queue-{n:03}", name=f"send-{n}")(_send) for n in range(QUEUES)
        ]
        hf.enqueue_many([task.call() for task in send])
        with server.client() as client:
            for kind in KINDS:
                client.zadd(f"cost:{{catalog:{kind}}}:names", {f"n{n}": n for n in range(NAMES)})
            for n in range(NAMES - LIMITS.mailboxes, NAMES):
                hf.mailbox(f"n{n}").send("x", sender="a")
                hf.counter(f"n{n}").add(1)
        yield server


def _send() -> None: ...


async def test_a_snapshot_makes_few_round_trips(quiet: Server) -> None:
    """Count the reads of the server; take the least of several snapshots."""
    reads = []
    async with AsyncHoldfast.from_url(quiet.url, namespace="cost") as hf:
        reader = SnapshotReader(hf)
        snapshot = await reader.read()  # the scripts are loaded
        assert (len(snapshot.queues), snapshot.known["queue"]) == (LISTED, QUEUES)
        assert len(snapshot.unread) == LISTED
        assert snapshot.survey.counters
        with quiet.client() as counting:
            counting.config_resetstat()
            for _ in range(LOOKS):
                before = _reads(counting)
                await reader.read()
                reads.append(_reads(counting) - before)
            used = {name.removeprefix("cmdstat_") for name in counting.info("commandstats")}
    assert min(reads) <= ROUND_TRIPS
    assert used & GROWING == set()


def _reads(client: redis.Redis) -> int:
    return int(client.info("stats")["total_reads_processed"])
