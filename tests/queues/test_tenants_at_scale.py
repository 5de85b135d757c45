"""A million waiting tasks of one tenant, and ten thousand others: a step costs what it claims."""

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from statistics import median
from typing import Any

import pytest
import redis

from faults.servers import Server
from faults.waiting import eventually
from holdfast import Holdfast, PerKey, Task, TaskRegistry
from queues.model.queue_server import ModelWorker, QueueServer
from queues.model.reference import Order, Settlement

CLAIMED = 64
STEPS = 10
ROUNDS = 7
NEW_TENANTS = 20
LARGE = -1
"""The tenant with most of the tasks."""

COST = 1.5
START_S = 0.1

LIMITS = [None, PerKey("tenant", concurrency=256)]
SCALES = [(100_000, 2_000), (1_000_000, 10_000)]


class Tenants:
    """A queue with many tasks of one tenant and a few of others."""

    def __init__(self, hf: Holdfast, limit: PerKey | None) -> None:
        self.hf = hf
        self.started_s: dict[int, float] = {}
        self.names = count()
        self.registry = TaskRegistry()

        @self.registry.task(queue="q", fair_by="tenant", limit=limit)
        async def work(tenant: int) -> None:
            self.started_s.setdefault(tenant, time.monotonic())

        self.task: Task[..., Any] = work

    def fill(self, backlog: int, tenants: int) -> None:
        """Enqueue *backlog* tasks of one tenant, and four each of others."""
        self.hf.enqueue_many(self.task.call(LARGE) for _ in range(backlog))
        others = [next(self.names) for _ in range(tenants)]
        self.hf.enqueue_many(self.task.call(each) for _ in range(4) for each in others)

    def delay_s(self) -> float:
        """Enqueue a task of a new tenant. Return the seconds until it starts."""
        tenant, began_s = next(self.names), time.monotonic()
        self.hf.enqueue(self.task.call(tenant))
        eventually(lambda: tenant in self.started_s, 60)
        return self.started_s[tenant] - began_s

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run a worker in the context."""
        worker = self.hf.worker(self.registry, concurrency=32)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            yield
        finally:
            worker.stop()
            thread.join()


class Steps:
    """The steps of a worker that runs nothing."""

    def __init__(self, server: QueueServer) -> None:
        self.server = server
        unit = server.unit("q")
        self.model_worker = ModelWorker(unit, "worker", unit.key("notify:0"))
        self.running: tuple[Settlement, ...] = ()
        self.costs_s: list[float] = []

    def some(self) -> None:
        """Settle and claim full batches. Note the processor time of the server for one."""
        before_s = cpu_s(self.server.plain)
        for _ in range(STEPS):
            model_worker = self.model_worker
            model_worker.number += 1
            order = Order(model_worker.channel, "worker", CLAIMED, 1, 600_000, 3, self.running)
            answer, _ = model_worker.step(self.server, order, model_worker.number)
            assert len(answer.claims) == CLAIMED
            self.running = tuple(
                Settlement(one.task_id, one.token, "done", 0, "=1") for one in answer.claims
            )
        self.costs_s.append((cpu_s(self.server.plain) - before_s) / STEPS)


def cpu_s(client: redis.Redis) -> float:
    """Return the processor time of the server."""
    found = client.info("cpu")
    return float(found["used_cpu_user"]) + float(found["used_cpu_sys"])


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("limit", LIMITS, ids=["turns", "turns and limit"])
@pytest.mark.parametrize(("backlog", "tenants"), SCALES)
def test_a_step_costs_what_it_claims(
    fresh_server: Server, limit: PerKey | None, backlog: int, tenants: int
) -> None:
    """It costs about as much as with few tasks; a new tenant is next, whatever waits."""
    name = secrets.token_hex(4)
    with (
        QueueServer(fresh_server, f"few-{name}") as small,
        QueueServer(fresh_server, f"many-{name}") as large,
    ):
        Tenants(small.clients[0], limit).fill(100, 2_000)
        Tenants(large.clients[0], limit).fill(backlog, tenants)
        few, many = Steps(small), Steps(large)
        for _ in range(ROUNDS):
            few.some()
            many.some()
        ratio = median(many.costs_s[1:]) / median(few.costs_s[1:])
        print(f"{backlog:,} tasks: {ratio:.2f} times the cost with few")
        assert ratio <= COST


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("limit", LIMITS, ids=["turns", "turns and limit"])
@pytest.mark.parametrize(("backlog", "tenants"), SCALES)
def test_the_first_task_of_a_new_tenant_starts_at_once(
    fresh_server: Server, limit: PerKey | None, backlog: int, tenants: int
) -> None:
    with Holdfast.from_url(fresh_server.url, namespace="tenants") as hf:
        queue = Tenants(hf, limit)
        queue.fill(backlog, tenants)
        with queue.working():
            # Those that are new at first come before tenants that are new later.
            eventually(lambda: len(queue.started_s) > tenants, 600)
            delays_s = sorted(queue.delay_s() for _ in range(NEW_TENANTS))
        shown = ", ".join(f"{1000 * each:.0f}" for each in delays_s)
        print(f"{backlog:,} tasks: {shown} ms")
        assert median(delays_s) <= START_S
