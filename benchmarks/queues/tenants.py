"""The cost of a step of a worker with limits and turns, in front of a long queue of one tenant.

One tenant has a million waiting tasks; ten thousand others have a few each. The server counts the
time of the steps by itself, while the worker runs the tasks of the others. Then new tenants come:
how long does the first task of each wait for its start?
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from statistics import median, quantiles
from typing import Any, Final

from holdfast import Holdfast, PerKey, Task, TaskRegistry

from ..harness import BenchmarkRun, spread_of
from ..report import Cell, Table, Target

BACKLOG: Final = 1_000_000
TENANTS: Final = 10_000
EACH: Final = 4
NEW_TENANTS: Final = 50

PLACES: Final = 256
BATCH: Final = 64
ROUNDS_PART: Final = 6

TARGET_STEP: Final = 1.5
TARGET_MS: Final = 100.0

_LARGE: Final = "the one with a million tasks"
_GAP_S: Final = 0.02
_LIMIT_S: Final = 120.0
_POLL_S: Final = 0.005

OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "without limits": {},
    "fair_by": {"fair_by": "tenant"},
    "PerKey": {"limit": PerKey("tenant", concurrency=PLACES)},
    "PerKey and fair_by": {
        "limit": PerKey("tenant", concurrency=PLACES),
        "fair_by": "tenant",
    },
}


class Case:
    """One queue with a backlog, and its worker."""

    def __init__(self, url: str, name: str) -> None:
        self.name = name
        self._hf = Holdfast.from_url(url, namespace="tenants")
        self._tasks = TaskRegistry()
        self._task: Task[..., Any] = self._tasks.task(queue=name, **OPTIONS[name])(self._run)
        self._names = count()
        self.done = 0
        self.started_s: dict[str, float] = {}

    async def _run(self, tenant: str) -> None:
        self.done += 1
        self.started_s.setdefault(tenant, time.monotonic())

    def wait(self, tasks: int) -> None:
        """Wait until *tasks* more have run."""
        until, deadline_s = self.done + tasks, time.monotonic() + _LIMIT_S
        while self.done < until:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{self.name}: the tasks did not run in {_LIMIT_S} s")
            time.sleep(_POLL_S)

    def enqueue(self, tenants: Iterator[str]) -> None:
        """Enqueue one task of each of *tenants*."""
        self._hf.enqueue_many(self._task.call(tenant) for tenant in tenants)

    def new_tenants(self, number: int) -> list[str]:
        """Return names that no task had before."""
        return [f"tenant {next(self._names)}" for _ in range(number)]

    def delay_ms(self) -> float:
        """Enqueue a task of a new tenant. Return the milliseconds until it starts."""
        (tenant,) = self.new_tenants(1)
        began_s = time.monotonic()
        self._hf.enqueue(self._task.call(tenant))
        while tenant not in self.started_s:
            if time.monotonic() > began_s + _LIMIT_S:
                raise TimeoutError(f"{self.name}: a task of a new tenant did not start")
            time.sleep(_POLL_S / 5)
        return (self.started_s[tenant] - began_s) * 1000

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run a worker in the context."""
        worker = self._hf.worker(self._tasks, concurrency=PLACES)
        thread = threading.Thread(target=worker.run)
        thread.start()
        try:
            yield
        finally:
            worker.stop()
            thread.join()

    def close(self) -> None:
        """Close the client."""
        self._hf.close()


@dataclass(frozen=True, slots=True)
class Round:
    """The measurements of one round of a case.

    Attributes:
        filled: tasks in a step.
        step_ms: server's time for `BATCH` tasks settled and claimed.
        delays_ms: how long the first tasks of new tenants waited; empty: they are not next.
    """

    filled: float
    step_ms: float
    delays_ms: list[float]


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure the cases in turn, each in front of its own backlog."""
    backlog, tenants = bench.scaled(BACKLOG), bench.scaled(TENANTS)
    rounds: dict[str, list[Round]] = {name: [] for name in OPTIONS}
    bench.server.clear()
    with ExitStack() as opened:
        cases = [Case(bench.server.url, name) for name in OPTIONS]
        for case in cases:
            opened.callback(case.close)
            case.enqueue(_LARGE for _ in range(backlog))
        for _ in range(bench.fewer(ROUNDS_PART) + 1):
            for case in cases:
                rounds[case.name].append(_round(bench, case, tenants))
    plain = [each.step_ms for each in rounds["without limits"][1:]]
    rows: list[list[Cell]] = []
    targets = []
    for name, taken in rounds.items():
        kept = taken[1:]
        costs = [each.step_ms for each in kept]
        times = spread_of([a / b for a, b in zip(costs, plain, strict=True)])
        delays = [ms for each in kept for ms in each.delays_ms]
        p99 = quantiles(delays, n=100, method="inclusive")[98] if delays else None
        filled = median(each.filled for each in kept)
        rows.append([name, filled, spread_of(costs), times, p99])
        if name == "fair_by" and p99 is not None:
            ratio = median(a / b for a, b in zip(costs, plain, strict=True))
            targets.append(
                Target("a step with fair_by ÷ without", ratio, TARGET_STEP, at_least=False)
            )
            targets.append(
                Target("first task of a new tenant, p99 ms", p99, TARGET_MS, at_least=False)
            )
    title = f"{backlog:,} tasks of one tenant, {EACH} each of {tenants:,} others"
    columns = ("case", "tasks per step", f"ms for {BATCH}", "÷ without", "new tenant p99 ms")
    yield Table(title, columns, rows, targets, rounds=len(plain))


def _round(bench: BenchmarkRun, case: Case, tenants: int) -> Round:
    """Measure steps in the middle of the tasks of *tenants*, then the delays of new ones."""
    names = case.new_tenants(tenants)
    case.enqueue(name for _ in range(EACH) for name in names)
    tasks = tenants * EACH
    with case.working():
        case.wait(tasks // 10)
        bench.server.forget_statistics()
        before = case.done
        case.wait(tasks * 8 // 10)
        spent, settled = bench.server.spent_on("evalsha"), case.done - before
        delays = list(_delays(case)) if "fair_by" in OPTIONS[case.name] else []
    return Round(settled / spent.calls, spent.total_s / settled * BATCH * 1000, delays)


def _delays(case: Case) -> Iterator[float]:
    for _ in range(NEW_TENANTS):
        yield case.delay_ms()
        time.sleep(_GAP_S)
