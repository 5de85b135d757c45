"""A step costs as much as the tasks it claims, however many of one tenant wait behind them."""

import secrets

import pytest
import redis

from faults.servers import Server
from holdfast import PerKey, Task, TaskRegistry
from queues.model.queue_server import ModelWorker, QueueServer
from queues.model.reference import Answer, Order, Settlement

CLAIMED = 64
STEPS = 4
LARGE = -1
"""The tenant with most of the tasks."""


def task_of(limit: PerKey | None) -> Task[..., None]:
    registry = TaskRegistry()

    @registry.task(queue="q", fair_by="tenant", limit=limit)
    def work(tenant: int) -> None: ...

    return work


def commands_of(client: redis.Redis) -> int:
    """Return how many commands the server has run, also in scripts."""
    stats = client.info("commandstats")
    return sum(found["calls"] for name, found in stats.items() if name != "cmdstat_info")


class Queue:
    """A queue with many tasks of one tenant and a few of others."""

    def __init__(
        self, queue_server: QueueServer, limit: PerKey | None, backlog: int, tenants: int
    ) -> None:
        self.queue_server = queue_server
        self.hf = queue_server.clients[0]
        self.task = task_of(limit)
        self.model_worker = ModelWorker(
            queue_server.unit("q"), "worker", queue_server.unit("q").key("notify:0")
        )
        self.running: tuple[Settlement, ...] = ()
        self.hf.enqueue_many(self.task.call(LARGE) for _ in range(backlog))
        calls = [self.task.call(tenant) for _ in range(4) for tenant in range(tenants)]
        self.hf.enqueue_many(calls)

    def step(self) -> Answer:
        """Settle what runs, and claim the next tasks."""
        model_worker = self.model_worker
        model_worker.number += 1
        order = Order(model_worker.channel, "worker", CLAIMED, 1, 60_000, 3, self.running)
        answer, _ = model_worker.step(self.queue_server, order, model_worker.number)
        self.running = tuple(
            Settlement(one.task_id, one.token, "done", 0, "=1") for one in answer.claims
        )
        return answer

    def commands_of_steps(self) -> int:
        """Return how many commands a few steps take, each with all the tasks that it may claim."""
        self.step()
        before = commands_of(self.queue_server.plain)
        for _ in range(STEPS):
            assert len(self.step().claims) == CLAIMED
        return commands_of(self.queue_server.plain) - before


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limit", [None, PerKey("tenant", concurrency=2)])
@pytest.mark.parametrize(
    ("backlog", "tenants"),
    [(4_000, 400), pytest.param(1_000_000, 10_000, marks=[pytest.mark.long])],
)
@pytest.mark.timeout(900)
def test_a_step_does_not_depend_on_what_waits(
    fresh_server: Server, limit: PerKey | None, backlog: int, tenants: int
) -> None:
    """The same commands as with few tasks; a new tenant is next."""
    with QueueServer(fresh_server, f"few-{secrets.token_hex(4)}") as queue_server:
        few = Queue(queue_server, limit, 100, 400).commands_of_steps()
    with QueueServer(fresh_server, f"many-{secrets.token_hex(4)}") as queue_server:
        queue = Queue(queue_server, limit, backlog, tenants)
        assert queue.commands_of_steps() <= few + STEPS
        for _ in range(tenants // CLAIMED):  # until all tenants have had a task
            queue.step()
        for new in range(tenants, tenants + 10):
            queue.hf.enqueue(queue.task.call(new))
            assert queue.step().claims[0].value == new
