"""Counters: clients that add, and look at the sum."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from faults.history import Operation
from faults.matrix.cell_result import Violation
from faults.matrix.client import Client
from faults.matrix.workloads.base import Workload
from faults.nursery import Actor
from faults.stubborn import insist
from holdfast import Holdfast
from holdfast.core.names import Namespace
from holdfast.counters.keys import KIND

COUNTER = "hits"
PRECISIONS = (60, 3600, 86_400)
CLIENTS = {"adder-1": "sync", "adder-2": "async", "adder-3": "async"}


def play(**about: Any) -> None:
    """Add some, and read the sum."""
    with Client(**about) as client:
        client.share(_play)


def _play(client: Client, _: str) -> None:
    counter = client.hf.counter(COUNTER)
    while not client.over:
        amount = client.dice.randint(1, 9)
        with client.operation("add", COUNTER, amount=amount) as op:
            op.result = client.write(partial(_add, counter, amount), op)
        with client.operation("read", COUNTER) as op:
            samples = client.read(lambda: counter.samples(3600), op)
            op.result = sum(sample.value for sample in samples)
        time.sleep(client.dice.uniform(0, 0.02))


def _add(counter: Any, amount: int, op_id: str) -> Any:
    return counter.add(amount, op_id=op_id)


class Counts(Workload):
    """Three clients that share one counter."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"add", "read"})

    def begin(self) -> None:
        with Holdfast.from_url(self.url, namespace=self.namespace) as hf:
            counter = hf.counter(COUNTER, precisions=PRECISIONS, keep=120)
            insist(lambda: counter.add(0))
        super().begin()

    def slots(self) -> list[int]:
        return [Namespace.of(self.namespace).unit(KIND, COUNTER).slot]

    def actors(self) -> list[Actor]:
        return [self.actor("play", name, half) for name, half in CLIENTS.items()]

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        with Holdfast.from_url(self.url, namespace=self.namespace) as hf:
            counter = hf.counter(COUNTER)
            sums = [sum(each.value for each in counter.samples(p)) for p in PRECISIONS]
        return judge(history, sums)


def judge(history: Sequence[Operation], sums: Sequence[int]) -> list[Violation]:
    """Between what was surely added and what was perhaps, at every moment; all precisions alike.

    Args:
        history: of adds and reads.
        sums: what each precision has at the end.
    """
    found = []
    if len(set(sums)) != 1:
        found.append(Violation("disordered", f"the precisions have different sums: {list(sums)}"))
    adds = [op for op in history if op.kind == "add" and op.outcome != "fail"]
    known = sum(op.fields["amount"] for op in adds if op.outcome == "ok")
    most = sum(op.fields["amount"] for op in adds)
    for total in sums:
        found += _bounded(total, known, most, "at the end")
    for read in history:
        if read.kind == "read" and read.outcome == "ok":
            assert read.return_ns is not None
            low = sum(op.fields["amount"] for op in adds if _ended(op) < read.invoke_ns)
            high = sum(op.fields["amount"] for op in adds if op.invoke_ns < read.return_ns)
            found += _bounded(read.value, low, high, str(read))
    return found


def _bounded(total: int, low: int, high: int, when: str) -> list[Violation]:
    if total < low:
        return [Violation("lost", f"{total} of {low} that were added, {when}")]
    if total > high:
        return [Violation("doubled", f"{total} of {high} that were asked for, {when}")]
    return []


def _ended(op: Operation) -> float:
    return op.return_ns if op.outcome == "ok" and op.return_ns else float("inf")
