"""A permit of a limit that is given back is used at once, with any limits in the queue."""

import random
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from faults.servers import Server
from holdfast import Limit, PerKey, Task, TaskHandle, TaskRegistry
from holdfast.queues import keys
from holdfast.queues.call import Priority
from queues.model.queue_server import DECLARE, ModelWorker, QueueServer
from queues.model.reference import Order, Settlement
from queues.test_tenants import commands_of

CONCURRENCY = 2
KEYS = 6
ROUNDS = 40
DELAY_S = 0.05
PER_SLOT, PER_LANE = 2**28, 2**26
"""Scores of `limited` that belong to one slot, and to one slot and priority."""

PILED = PerKey("key", concurrency=CONCURRENCY, name="piled")
RATED = PerKey("key", concurrency=CONCURRENCY, rate=Limit(1000, per=0.01), name="rated")
FREE = PerKey("key", rate=Limit(1000, per=0.01), name="free")
TURNS = PerKey("key", concurrency=CONCURRENCY, name="turns").taking_turns()
PRIORITIES: list[Priority] = ["high", "medium", "low"]
ENDS = ["done", "done", "done", "dead", "retry", "release"]

QUEUES = {
    "one limit": [PILED],
    "one limit, keys take turns": [TURNS],
    "a rate too": [RATED],
    "only a rate": [FREE],
    "both kinds": [PILED, TURNS, FREE],
}


def task_of(limit: PerKey | None) -> Task[..., None]:
    registry = TaskRegistry()

    @registry.task(queue="q", limit=limit)
    def work(key: int) -> None: ...

    return work


class Steps:
    """The steps of a worker that runs nothing."""

    def __init__(self, queue_server: QueueServer) -> None:
        self.queue_server, self.unit = queue_server, queue_server.unit("q")
        self.model_worker = ModelWorker(self.unit, "worker", self.unit.key("notify:0"))
        self.running: list[tuple[str, int]] = []

    def step(self, want: int, ends: list[str]) -> int:
        """Settle the first running tasks with *ends*, and claim up to *want*. Return how many."""
        settled = tuple(
            Settlement(task_id, token, end, 0, "=1" if end == "done" else "a reason")
            for (task_id, token), end in zip(self.running, ends, strict=False)
        )
        self.model_worker.number += 1
        order = Order(self.model_worker.channel, "worker", want, 1, 60_000, 3, settled)
        answer, _ = self.model_worker.step(self.queue_server, order, self.model_worker.number)
        assert answer.accepted == "1" * len(settled)
        self.running = self.running[len(settled) :]
        self.running += [(one.task_id, one.token) for one in answer.claims]
        return len(answer.claims)

    def idle_permits(self) -> Iterator[str]:
        """Name the keys that have room for a task that is kept apart."""
        client: Any = self.queue_server.plain
        stored = client.hgetall(keys.limit_keys(self.unit))
        names = {int(slot): name.decode() for name, slot in stored.items() if b" " in name}
        scores = [
            int(score)
            for _, score in client.zrange(keys.admitted(self.unit), 0, -1, withscores=True)
        ]
        admitted, ready = Counter(score // 4 for score in scores), set(scores)
        assert all(
            scores.count(4 * slot) <= CONCURRENCY or "free" in names[slot] for slot in admitted
        )
        for _, score in client.zrange(keys.limited(self.unit), 0, -1, withscores=True):
            slot, lane = int(score) // PER_SLOT, int(score) % PER_SLOT // PER_LANE
            is_full = "free" not in names[slot] and admitted[slot] >= CONCURRENCY
            has_ready = "piled" not in names[slot] and 4 * slot + lane in ready
            if not is_full and not has_ready:
                yield names[slot]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limits", QUEUES.values(), ids=QUEUES)
def test_no_permit_is_left_while_a_task_waits_for_it(
    standalone: Server, limits: list[PerKey], seed: int
) -> None:
    """After each step, with any ends, and after each cancellation; at the end all have run."""
    chosen = random.Random(seed)
    with QueueServer(standalone, f"permits-{secrets.token_hex(4)}") as queue_server:
        steps, tasks = Steps(queue_server), [task_of(limit) for limit in limits]
        handles: list[TaskHandle[None]] = []
        for _ in range(ROUNDS):
            calls = [chosen.choice(tasks).call(chosen.randrange(KEYS)) for _ in range(5)]
            handles += queue_server.clients[0].enqueue_many(
                call.options(priority=chosen.choice(PRIORITIES)) for call in calls
            )
            running = {task_id for task_id, _ in steps.running}
            cancelled = chosen.choice([each for each in handles if each.task_id not in running])
            cancelled.cancel()
            assert list(steps.idle_permits()) == []
            steps.step(chosen.randrange(12), chosen.choices(ENDS, k=chosen.randrange(12)))
            assert list(steps.idle_permits()) == []
        while steps.step(64, ["done"] * len(steps.running)) or steps.running:
            assert list(steps.idle_permits()) == []
        assert queue_server.plain.hlen(keys.bodies(steps.unit)) == queue_server.plain.zcard(
            keys.dead(steps.unit)
        )


@pytest.mark.parametrize("limit", [PILED, FREE], ids=["concurrency", "rate"])
def test_keys_with_room_are_settled_together(fresh_server: Server, limit: PerKey) -> None:
    """The commands of a step do not grow with the keys of the tasks that it settles."""
    spent = []
    for each in (None, limit):
        with QueueServer(fresh_server, f"settled-{secrets.token_hex(4)}") as queue_server:
            task, steps = task_of(each), Steps(queue_server)
            queue_server.clients[0].enqueue_many(task.call(n) for n in range(64))
            assert steps.step(64, []) == 64
            before = commands_of(queue_server.plain)
            steps.step(0, ["done"] * 64)
            spent.append(commands_of(queue_server.plain) - before)
    assert spent[1] - spent[0] < 16


@pytest.mark.parametrize(("each", "most"), [(1, 100), (2, 115), (40, 160)])
def test_keys_that_take_turns_are_claimed_together(
    fresh_server: Server, each: int, most: int
) -> None:
    """A step that claims a task of each of 64 keys reads several keys at once, if they have few."""
    task = task_of(PerKey.turns("key"))
    with QueueServer(fresh_server, f"claimed-{secrets.token_hex(4)}") as queue_server:
        steps = Steps(queue_server)
        queue_server.clients[0].enqueue_many(task.call(n) for _ in range(each) for n in range(64))
        before = commands_of(queue_server.plain)
        assert steps.step(64, []) == 64
        assert commands_of(queue_server.plain) - before < most


def test_a_task_that_is_kept_apart_in_a_step_follows_in_this_step(standalone: Server) -> None:
    """The step has found before that nothing of this key and of later ones is kept apart."""
    task = task_of(PerKey.turns("key"))
    with QueueServer(standalone, f"apart-{secrets.token_hex(4)}") as queue_server:
        steps, enqueue = Steps(queue_server), queue_server.clients[0].enqueue
        enqueue(task.call(1))
        assert steps.step(1, []) == 1
        enqueue(task.call(2))
        enqueue(task.call(2))
        assert steps.step(1, []) == 1  # the second one follows: it is in the ready list
        enqueue(task.call(1))
        enqueue(task.call(2).options(delay=DELAY_S))
        time.sleep(2 * DELAY_S)
        assert steps.step(3, []) == 3


@pytest.mark.parametrize("limit", [TURNS, PerKey.turns("key"), FREE], ids=["both", "turns", "rate"])
def test_the_next_task_is_admitted_instead_of_an_expired_one(
    standalone: Server, limit: PerKey
) -> None:
    with QueueServer(standalone, f"expired-{secrets.token_hex(4)}") as queue_server:
        steps, task = Steps(queue_server), task_of(limit)
        queue_server.clients[0].enqueue(task.call(1).options(expires=DELAY_S))
        queue_server.clients[0].enqueue(task.call(1))
        time.sleep(2 * DELAY_S)
        assert steps.step(1, []) or steps.step(1, [])
        assert len(steps.running) == 1


def test_the_tasks_of_a_key_start_in_order_after_a_place_was_given_back(standalone: Server) -> None:
    """A step that settles a task of a key and claims another one asks twice which one is next."""
    wide = PerKey("key", concurrency=3, name="wide").taking_turns()
    narrow = PerKey("key", concurrency=1, name="narrow")
    with QueueServer(standalone, f"order-{secrets.token_hex(4)}") as queue_server:
        steps, task = Steps(queue_server), task_of(wide)
        queue_server.clients[0].enqueue(task_of(narrow).call(0))
        assert steps.step(1, []) == 1
        handles = queue_server.clients[0].enqueue_many(task.call(0) for _ in range(8))
        started = [task_id for task_id, _ in steps.running[1:]]
        assert steps.step(1, ["done"]) == 1
        for _ in handles[1:]:
            started.append(steps.running[0][0])
            assert steps.step(1, ["done"]) == 1
        started.append(steps.running[0][0])
        assert started == [handle.task_id for handle in handles]


def test_the_next_task_of_a_key_is_ready_while_another_one_runs_after_a_change(
    standalone: Server,
) -> None:
    """A definition that has ever changed makes a step count what it has not written yet."""
    with QueueServer(standalone, f"changed-{secrets.token_hex(4)}") as queue_server:
        steps, task = Steps(queue_server), task_of(TURNS)
        queue_server.clients[0].enqueue_many(task.call(0) for _ in range(6))
        for text in ("3 0 0 1", "2 0 0 1"):
            names = list(map(str, DECLARE.keys(steps.unit)))
            queue_server.run(DECLARE, names, ["turns", text])
        assert steps.step(1, []) == 1
        assert list(steps.idle_permits()) == []
        assert steps.step(1, []) == 1
        assert steps.step(1, ["done"]) == 1
        assert list(steps.idle_permits()) == []
