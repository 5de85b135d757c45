"""What a page costs where there is a lot: 10,000 queues and 1,000,000 tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from faults.servers import Server
from holdfast import Retry, TaskRegistry
from web.dashboard.sample_data import PAGES, work
from web.running import RunningApp, opened

QUEUES = 10_000
TASKS = 1_000_000
IN_ONE = TASKS // 2
"""Half of them are in one queue: a page of tasks is of one."""

DEAD = 10_000

ROUND_TRIPS = 20
SERVER_MS = 50.0
REQUESTS = 5

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

registry = TaskRegistry()


@registry.task(queue="dying", retry=Retry(attempts=1))
def die(n: int) -> None:
    """Fail with one of seven causes."""
    raise ValueError(f"cause {n % 7} of {n}")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Start a server that no other test uses."""
    with Server() as server:
        yield server


@pytest.fixture(scope="module")
def live(server: Server) -> Iterator[RunningApp]:
    """Serve a dashboard of many dead tasks."""
    with opened(server.url, "scale") as live:
        live.hf.enqueue_many([die.call(n) for n in range(DEAD)])
        work(live.hf, registry)
        for n in range(QUEUES):
            enqueue(live, f"queue-{n:05}", (TASKS - IN_ONE) // QUEUES)
        for _ in range(IN_ONE // 10_000):
            enqueue(live, "queue-00000", 10_000)
        yield live


def enqueue(live: RunningApp, queue: str, count: int) -> None:
    task = TaskRegistry().task(queue=queue, name="send")(send)
    live.hf.enqueue_many([task.call(n) for n in range(count)])


def send(n: int) -> None: ...


@pytest.mark.parametrize("path", PAGES)
def test_a_page_stays_cheap(live: RunningApp, server: Server, path: str) -> None:
    """The cheapest of a few looks: whatever else the machine does costs the server time as well."""
    visitor = live.visitor("operator", Accept="text/html")
    query = {"name": "queue-00000", "queue": "queue-00000", "id": "x"} if path != "failures" else {}
    costs = []
    with server.client() as client:
        for _ in range(REQUESTS):
            before = usage(client)
            assert visitor.get(f"/{path}", params=query).status_code == 200
            costs.append([b - a for a, b in zip(before, usage(client), strict=True)])
    cpu_ms, reads = min(costs)
    print(f"{path or 'overview'}: {cpu_ms:.1f} ms, {reads:.0f} reads")
    assert cpu_ms <= SERVER_MS
    assert reads <= ROUND_TRIPS


def usage(client: redis.Redis) -> tuple[float, float]:
    """Processor time of the server so far in ms, and how often it read from a socket."""
    info = client.info("everything")
    cpu_s = info["used_cpu_sys"] + info["used_cpu_user"]
    return cpu_s * 1000, info["total_reads_processed"]
