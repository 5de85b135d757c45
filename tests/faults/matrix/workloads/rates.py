"""Rate limiters: clients that wait for their turn, and give back what they did not need."""

import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from faults.history import Operation
from faults.matrix.cell_result import Violation
from faults.matrix.client import Client
from faults.matrix.workloads.base import Workload
from faults.nursery import Actor
from holdfast import Limit, RateLimited
from holdfast.core.names import Namespace
from holdfast.limits.definition import subject_unit

LIMITER = "api"
AMOUNT = 60
PERIOD_MS = 1000
CLIENTS = {"caller-1": "sync", "caller-2": "async", "caller-3": "async"}


def play(**about: Any) -> None:
    """Pass the limiter, and settle some of the permits."""
    with Client(**about) as client:
        client.share(_play)


def _play(client: Client, _: str) -> None:
    limiter = _limiter(client.hf)
    while not client.over:
        kind, timeout = ("acquire", None) if client.dice.random() < 0.8 else ("ask", 0.0)
        cost = client.dice.randint(1, 5)
        with client.operation(kind, LIMITER, cost=cost) as op:
            try:
                permit = client.write(partial(_acquire, limiter, cost, timeout), op)
                op.result = permit._reservation.at_ms
            except RateLimited:
                permit = None
        if permit and client.dice.random() < 0.3:
            actual = client.dice.randint(0, cost - 1)
            with client.operation("settle", LIMITER, at=op.result, excess=cost - actual) as op:
                client.write(partial(_settle, permit, actual), op)
        time.sleep(client.dice.uniform(0, 0.02))


def _limiter(hf: Any) -> Any:
    return hf.rate_limit(LIMITER, Limit(AMOUNT, per=PERIOD_MS / 1000))


def _acquire(limiter: Any, cost: int, timeout: float | None, op_id: str) -> Any:
    return limiter.acquire(cost, timeout=timeout, op_id=op_id)


def _settle(permit: Any, actual: int, op_id: str) -> Any:
    return permit.settle({"requests": actual}, op_id=op_id)


class Rates(Workload):
    """Three clients that share one rate limiter."""

    module: ClassVar[str] = __name__
    kinds: ClassVar[frozenset[str]] = frozenset({"acquire", "ask", "settle"})

    def slots(self) -> list[int]:
        return [subject_unit(Namespace.of(self.namespace), LIMITER, "").slot]

    def actors(self) -> list[Actor]:
        return [self.actor("play", name, half) for name, half in CLIENTS.items()]

    def judge(self, history: Sequence[Operation]) -> list[Violation]:
        return judge(history)


def judge(history: Sequence[Operation]) -> list[Violation]:
    """Find windows of the period in which more passed than the limit, by the limiter's clock."""
    excess = {op.fields["at"]: 0 for op in history if op.kind == "settle"}
    for op in history:
        if op.kind == "settle" and op.outcome != "fail":
            excess[op.fields["at"]] += op.fields["excess"]
    costs = Counter[int]()
    for op in history:
        if op.kind in ("acquire", "ask") and op.outcome == "ok" and op.value is not None:
            costs[op.value] += op.fields["cost"]
    for at, cost in excess.items():
        costs[at] -= cost
    return [
        Violation("doubled", f"{passed} of {AMOUNT} passed in the period that ends at {at}")
        for at in costs
        if (passed := sum(costs[each] for each in costs if at - PERIOD_MS < each <= at)) > AMOUNT
    ]
