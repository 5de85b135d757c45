"""A queue with partitions: their number changes while producers and workers use it."""

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from faults.matrix.client import Client
from faults.matrix.workloads import queues
from faults.nursery import Actor
from faults.stubborn import insist
from faults.waiting import eventually
from holdfast.core.names import Namespace, Unit
from holdfast.queues import keys
from holdfast.queues.partitions.layout import partition_name
from queues.faults import divided_chores as divided
from queues.faults import worker_process

FIRST = 4
NUMBERS = (6, 3, 5, 2)
"""A queue may change eight times in a day."""
LAST = 6

PAUSE_S = 0.6
"""Seconds between two changes."""

TENANTS = 5
SHORT_S = 0.03

BATCHES = 0.2
"""This share of what producers enqueue are several tasks at once, for several partitions."""

PARTITION_KEYS = 0.2
"""This share of the plain tasks has a partition key."""


def produce(**about: Any) -> None:
    """Enqueue tasks until the end, one by one and in batches: with keys and without."""
    with Client(**about) as client:
        client.share(_produce)


def _produce(client: Client, me: str) -> None:
    number = client.number
    while not client.over:
        key = f"{me}-{number}"
        if client.dice.random() < BATCHES:
            names = [f"{key}.{n}" for n in range(client.dice.randint(2, 6))]
            with ExitStack() as recorded:
                ops = [
                    recorded.enter_context(client.operation("enqueue", name, number=number))
                    for name in names
                ]
                calls = [_call(client, name) for name in names]
                handles = client.write(partial(_enqueue_many, client.hf, calls), ops[0])
                for op, handle in zip(ops, handles, strict=True):
                    op.result = handle.task_id
        else:
            with client.operation("enqueue", key, number=number) as op:
                call = _call(client, key)
                op.result = client.write(partial(queues._enqueue, client.hf, call), op).task_id
        number += 1
        time.sleep(client.dice.uniform(0, 0.1))


def _call(client: Client, key: str) -> Any:
    """Return a call of some task."""
    dice = client.dice
    seconds = dice.uniform(0, SHORT_S)
    plain = [divided.plain, divided.on_the_loop, divided.acks_at_once, divided.in_steps]
    task = dice.choice([*plain, divided.unique, divided.one_of_a_tenant])
    if task is divided.one_of_a_tenant:
        return divided.one_of_a_tenant.call(key, dice.randrange(TENANTS), seconds)
    call = task.call(key, seconds)
    if task in plain and dice.random() < PARTITION_KEYS:
        return call.options(partition_key=f"tenant {dice.randrange(TENANTS)}")
    return call


def _enqueue_many(hf: Any, calls: Any, op_id: str) -> Any:
    return hf.enqueue_many(calls, op_id=op_id)


def change(**about: Any) -> None:
    """Change the number of partitions, each time to the next of `NUMBERS`."""
    with Client(**about) as client:
        changes = sum(each.kind == "repartition" for each in client.past)
        for number in NUMBERS[changes:]:
            time.sleep(PAUSE_S)
            if client.over:
                return
            with client.operation("repartition", str(number)) as op:
                client.write(partial(_repartition, client.hf, number), op)


def _repartition(hf: Any, number: int, op_id: str) -> Any:
    return hf.queue(divided.QUEUE).repartition(number, op_id=op_id)


def _has_content(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def work(*, url: str, namespace: str, folder: str, name: str, access: str = "", **_: Any) -> None:
    """Serve until SIGTERM."""
    history = f"{folder}/{name}.jsonl"
    options = str(queues.LEASE_S), str(queues.AT_ONCE), "5"
    worker_process.main(url, namespace, history, *options, access, tasks=divided.tasks)


class Partitions(queues.Queues):
    """Two producers, two workers, one queue, and a client that changes its partitions."""

    module: ClassVar[str] = __name__
    queue: ClassVar[str] = divided.QUEUE

    def units(self) -> list[Unit]:
        space = Namespace.of(self.namespace)
        return [
            space.unit(keys.KIND, partition_name(self.queue, index))
            for index in range(max(FIRST, LAST, *NUMBERS))
        ]

    def slots(self) -> list[int]:
        """Return the slots of the partitions that there always are."""
        return [unit.slot for unit in self.units()[: min(FIRST, LAST, *NUMBERS)]]

    def begin(self) -> None:
        with self.open() as hf:
            hf.queue(self.queue).repartition(FIRST)
        super().begin()
        # A server that rejects a worker which starts ends it; that is another test.
        histories = [self.folder / f"{worker.name}.jsonl" for worker in self._workers]
        eventually(lambda: all(map(_has_content, histories)), reason="each worker has run a task")

    def actors(self) -> list[Actor]:
        found = super().actors()
        self._changer = self.actor("change", "changer", "sync")
        return [*found, self._changer]

    def end(self) -> None:
        """Set the last number, so that workers serve all partitions, and drain the queue."""
        (self.folder / "stop").touch()
        self._changer.wait(60)
        with self.open() as hf:
            insist(lambda: hf.queue(self.queue).repartition(LAST))
        super().end()
