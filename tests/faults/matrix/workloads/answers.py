"""Idempotency keys: clients ask for the same calls, and each call has one answer."""

import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

from faults.history import Operation
from faults.matrix.cell_result import Violation
from faults.matrix.client import Client
from faults.matrix.workloads.base import Workload
from faults.nursery import Actor
from holdfast.core.names import Namespace
from holdfast.idempotency.call_names import call_unit

STORE = "payments"
AHEAD = 4
"""Keys among which a client chooses: that many have no answer that it knows."""

OLD = 16
"""Keys that are asked for again and again; only their slots are moved."""

LEASE_S = 1.0
CLIENTS = {"caller-1": "sync", "caller-2": "async", "caller-3": "async"}


def play(**about: Any) -> None:
    """Ask for one call after the other, and do those that begin here."""
    with Client(**about) as client:
        client.share(_play)


def _play(client: Client, _: str) -> None:
    store = client.hf.idempotency(STORE, lease=LEASE_S)
    first = 0  # after a restart, the answers of all earlier keys are found
    while not client.over:
        is_old = client.dice.random() < 0.3
        number = client.dice.randrange(OLD) if is_old else first + client.dice.randrange(AHEAD)
        with client.operation("call", key_of(number)) as op:
            call = client.read(partial(_begin, store, number), op)
            assert call.state != "conflict", f"{key_of(number)} is in conflict"
            if call.state == "done":
                op.result = call.answer.decode()
                first += number == first
            elif call.state == "running":
                op.fail()
            else:
                time.sleep(client.dice.uniform(0, 0.01))
                op.result = uuid4().hex
                try:
                    if not client.read(partial(call.finish, op.result.encode()), op):
                        op.fail()
                except RuntimeError:  # the call was interrupted after it had finished
                    op.unknown()
        time.sleep(client.dice.uniform(0, 0.01))


def key_of(number: int) -> str:
    """Return an idempotency key."""
    return f"order-{number}"


def _begin(store: Any, number: int) -> Any:
    return store.begin(key_of(number), b"body", wait=0.2)


class Answers(Workload):
    """Three clients that share a store of answers."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"call"})

    def slots(self) -> list[int]:
        namespace = Namespace.of(self.namespace)
        return [call_unit(namespace, STORE, "", key_of(number)).slot for number in range(OLD)]

    def actors(self) -> list[Actor]:
        return [self.actor("play", name, half) for name, half in CLIENTS.items()]

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        return judge(history)


def judge(history: Sequence[Operation]) -> list[Violation]:
    """Find calls with more than one answer: they were done, and done again."""
    answers = defaultdict[str, set[str]](set)
    for op in history:
        if op.kind == "call" and op.outcome == "ok":
            answers[op.key].add(op.value)
    return [
        Violation("doubled", f"{key} has {len(found)} answers")
        for key, found in answers.items()
        if len(found) > 1
    ]
