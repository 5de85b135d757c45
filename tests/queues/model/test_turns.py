"""Keys that take turns: between two tasks of a key, each key that waits has had one."""

import random
import secrets
import time
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from faults.servers import Server
from holdfast import PerKey, Task, TaskRegistry
from holdfast.queues import keys
from queues.model.queue_server import ModelWorker, QueueServer
from queues.model.reference import Claimed, Order, Settlement

TENANTS = "abcdef"
ROUNDS = 250


@pytest.fixture
def queue_server(standalone: Server) -> Iterator[QueueServer]:
    with QueueServer(standalone, f"turns-{secrets.token_hex(4)}") as queue_server:
        yield queue_server


def task_of(queue: str, limit: PerKey | None) -> Task[..., None]:
    registry = TaskRegistry()

    @registry.task(queue=queue, fair_by="tenant", limit=limit)
    def work(tenant: int) -> None: ...

    return work


class Starts:
    """Checks the order in which the tasks of tenants start."""

    def __init__(self) -> None:
        self.waiting: Counter[int] = Counter()
        self.owed: dict[int, set[int]] = {}

    def start(self, tenant: int) -> None:
        """Note that a task starts. All that waited when its tenant had one must have had one."""
        assert not self.owed.get(tenant), f"{tenant} is before {self.owed[tenant]}"
        self.waiting[tenant] -= 1
        for others in self.owed.values():
            others.discard(tenant)
        self.owed[tenant] = {other for other in +self.waiting if other != tenant}


@pytest.mark.parametrize("limit", [None, PerKey("tenant", concurrency=9999)])
def test_each_tenant_that_waits_has_its_turn(
    queue_server: QueueServer, seed: int, limit: PerKey | None
) -> None:
    """Whatever comes when, also from tenants that send their tasks one by one."""
    dice, starts, task = random.Random(seed), Starts(), task_of("q", limit)
    model_worker = ModelWorker(
        queue_server.unit("q"), "worker", queue_server.unit("q").key("notify:0")
    )
    hf, running = queue_server.clients[0], []
    for _ in range(ROUNDS):
        for _ in range(dice.choice([0, 1, 1, 2])):
            tenant, amount = dice.randrange(6), dice.choice([1, 1, 1, 4])
            starts.waiting[tenant] += amount
            hf.enqueue_many([task.call(tenant) for _ in range(amount)])
        time.sleep(0.001)  # Due tasks of one millisecond have no order.
        settled, running = running[:2], running[2:]
        done = tuple(Settlement(one.task_id, one.token, "done", 0, "=1") for one in settled)
        order = Order(
            model_worker.channel, model_worker.name, dice.randrange(4), 1, 60_000, 3, done
        )
        model_worker.number += 1
        answer, _ = model_worker.step(queue_server, order, model_worker.number)
        for claim in answer.claims:
            starts.start(claim.value)
        running += answer.claims


def test_a_released_task_is_the_next_of_its_key(queue_server: QueueServer) -> None:
    """Its key still has one ready task: the one that followed it keeps its turn."""
    task, unit = task_of("q", None), queue_server.unit("q")
    model_worker = ModelWorker(unit, "worker", unit.key("notify:0"))
    queue_server.clients[0].enqueue_many([task.call(tenant) for tenant in (1, 1, 1, 2)])

    def step(want: int, *settled: Settlement) -> Sequence[Claimed]:
        model_worker.number += 1
        order = Order(model_worker.channel, model_worker.name, want, 1, 60_000, 3, settled)
        return model_worker.step(queue_server, order, model_worker.number)[0].claims

    first, second = step(2)
    released = [Settlement(one.task_id, one.token, "release", 0, "") for one in (first, second)]
    assert [one.value for one in (first, second)] == [1, 2]
    assert not step(0, *released)
    assert queue_server.plain.zcard(keys.limited(unit)) == 2
    again = step(4)
    assert sorted(one.value for one in again) == [1, 1, 1, 2]
    of_first = [one.task_id for one in again if one.value == 1]
    assert of_first.index(first.task_id) == 1  # behind its follower, before the third
