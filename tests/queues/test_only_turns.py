"""A queue with limits that only make their keys take turns: its steps read no record of a key."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from faults.servers import Server
from holdfast import Limit, PerKey, Task
from holdfast.queues import keys
from queues.model.queue_server import DECLARE, QueueServer
from queues.model.reference import Order, Settlement
from queues.test_freed_permits import Steps, task_of

HOUR_MS = 3_600_000
TURNS = PerKey.turns("key")
ONCE = PerKey("key", rate=Limit(1, per=3600.0), name="once")
MANY_DEFINITIONS = 70
"""More than a step reads."""


@pytest.fixture
def steps(standalone: Server) -> Iterator[Steps]:
    with QueueServer(standalone, f"turns-{secrets.token_hex(4)}") as queue_server:
        yield Steps(queue_server)


def enqueue(steps: Steps, task: Task[..., None], *names: int) -> None:
    """Enqueue a task of each of the keys *names*."""
    steps.queue_server.clients[0].enqueue_many(map(task.call, names))


def declare(steps: Steps, name: str, definition: str) -> None:
    """Start a worker that knows another definition of a limit."""
    steps.queue_server.run(DECLARE, list(map(str, DECLARE.keys(steps.unit))), [name, definition])


def number_apart(steps: Steps) -> Any:
    return steps.queue_server.plain.zcard(keys.limited(steps.unit))


def test_a_paused_key_starts_no_task(steps: Steps) -> None:
    enqueue(steps, task_of(TURNS), 1, 1, 1, 2, 2)
    assert steps.step(1, []) == 1
    (task_id, token), steps.running = steps.running[0], []
    pause = Settlement(task_id, token, "dead_key", HOUR_MS, "429")
    order = Order(steps.model_worker.channel, "worker", 9, 1, 60_000, 3, (pause,))
    steps.model_worker.number += 1
    answer, _ = steps.model_worker.step(steps.queue_server, order, steps.model_worker.number)
    assert len(answer.claims) == 2
    assert steps.step(9, []) == 0
    assert number_apart(steps) == 1


@pytest.mark.parametrize(("turns", "is_new"), [(1, False), (2, True)])
def test_a_key_without_tasks_is_new_again_when_each_ready_key_had_its_turn(
    steps: Steps, turns: int, is_new: bool
) -> None:
    """A new key overtakes the others: its task is due at once."""
    task, client = task_of(TURNS), steps.queue_server.clients[0]
    enqueue(steps, task, 1, 1, 1, 1, 2, 2, 2, 2)
    assert steps.step(2, []) == 2
    enqueue(steps, task, 3)
    assert steps.step(1, []) == 1  # the only task of the third key
    for _ in range(turns):
        assert steps.step(1, []) == 1
    task_id = client.enqueue(task.call(3)).task_id
    due = steps.queue_server.plain.zscore(keys.due(steps.unit)[1], task_id)
    assert (due is not None) == is_new


def test_keys_with_several_ready_tasks_after_a_change(steps: Steps) -> None:
    """A definition that allowed them became one that does not: no further one becomes ready."""
    task = task_of(TURNS)
    enqueue(steps, task, 1)
    assert steps.step(1, []) == 1
    declare(steps, "work", "0 0 0 0")
    enqueue(steps, task, 1, 1, 1)
    declare(steps, "work", "0 0 0 1")
    enqueue(steps, task, 1, 1)
    assert number_apart(steps) == 2
    assert steps.step(1, ["done"]) == 1
    assert number_apart(steps) == 2
    assert [steps.step(1, []) for _ in range(5)] == [1, 1, 1, 1, 0]


def test_a_task_follows_with_an_id_that_was_cancelled_in_the_ready_list(steps: Steps) -> None:
    """The id is still in the list, and the next worker that finds it there drops it."""
    task, client = task_of(TURNS), steps.queue_server.clients[0]
    handles = client.enqueue_many([task.call(1), task.call(1)])
    assert steps.step(1, []) == 1
    handles[1].cancel()
    follower = handles[1].task_id
    assert steps.queue_server.plain.sismember(keys.tombstones(steps.unit), follower)
    client.enqueue(task.call(1))
    client.enqueue(task.call(1).options(task_id=follower))
    assert steps.step(1, []) == 1
    assert steps.queue_server.plain.zscore(keys.due(steps.unit)[1], follower)
    assert steps.step(1, []) == 1
    assert steps.running[-1][0] == follower


@pytest.mark.parametrize("first", [TURNS, ONCE], ids=["turns", "rate"])
def test_another_limit_of_the_queue_counts(steps: Steps, first: PerKey) -> None:
    turns, once = task_of(TURNS), task_of(ONCE)
    enqueue(steps, turns if first is TURNS else once, 1, 1)
    enqueue(steps, once if first is TURNS else turns, 1, 1)
    assert steps.step(9, []) + steps.step(9, []) == 3
    assert steps.step(9, []) == 0


def test_a_limit_among_very_many_counts(steps: Steps) -> None:
    """A step reads some of the definitions, and must not take them for all of them."""
    task = task_of(PerKey("key", concurrency=1, name="one"))
    for n in range(MANY_DEFINITIONS):
        steps.queue_server.plain.hset(keys.settings(steps.unit), f"limit:{n}", "0 0 0 1")
    for key in range(40):
        enqueue(steps, task, key, key)
        assert steps.step(2, []) == 1
