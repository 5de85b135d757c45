"""What a durable step costs, and what tasks without steps pay for them.

One worker runs one task after the other. Telemetry counts its calls in a round of its own, and the
server its processor time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from holdfast import Holdfast, Task, TaskRegistry, current_task

from ..harness import BenchmarkRun, spread_of
from ..report import Cell, Table, Target

TASKS: Final = 50
STEPS: Final = 20
ROUNDS_PART: Final = 6

tasks = TaskRegistry()


async def add(a: int, b: int) -> int:
    """Return the sum, so that the step itself costs nothing."""
    return a + b


@tasks.task(queue="steps")
async def without(count: int) -> int:
    """Call the function of the steps directly."""
    total = 0
    for n in range(count):
        total = await add(total, n)
    return total


@tasks.task(queue="steps")
async def with_steps(count: int) -> int:
    """Call it in steps."""
    task, total = current_task(), 0
    for n in range(count):
        total = await task.step("add", add, total, n)
    return total


@tasks.task(queue="steps")
def with_plain_steps(count: int) -> int:
    """Call a plain function in steps, in a thread."""
    task, total = current_task(), 0
    for n in range(count):
        total = task.step("add", int, n)
    return total


class CountedCalls:
    """Telemetry that counts the calls of scripts."""

    def __init__(self) -> None:
        self.scripts: Counter[str] = Counter()

    @contextmanager
    def during(self, verb: str, unit: Any, **about: Any) -> Iterator[Any]:
        """Count a call."""
        del unit
        if verb == "call":
            self.scripts[about["facts"]["script"]] += 1
        yield _Nothing()

    def count(self, *_: Any) -> None:
        """Do nothing."""

    def delayed(self, *_: Any) -> None:
        """Do nothing."""


class _Nothing:
    """An operation that is not recorded."""

    trace = None

    def received(self, *_: Any) -> None:
        """Do nothing."""

    def ended(self, *_: Any) -> None:
        """Do nothing."""


def run(bench: BenchmarkRun) -> Iterator[Table]:
    """Measure calls and time for each step."""
    rounds = bench.fewer(ROUNDS_PART)
    rows: list[list[Cell]] = []
    worst = 0.0
    for task in (without, with_steps, with_plain_steps):
        calls = CountedCalls()
        _round(bench, task, calls)
        own = [calls.scripts[f"queues/{name}"] for name in ("record_step", "read_steps")]
        taken = [_round(bench, task) for _ in range(rounds)]
        times = spread_of([1e6 * seconds / TASKS / STEPS for seconds, _ in taken])
        server = spread_of([1e6 * cpu_s / TASKS / STEPS for _, cpu_s in taken])
        rows.append([task.name, own[0] / TASKS / STEPS, own[1] / TASKS, times, server])
        worst = max(worst, own[0] / TASKS / STEPS)
    columns = ("task", "calls per step", "calls per task", "µs per step", "server µs per step")
    target = Target("calls of the server for each step", worst, 1.0, at_least=False)
    title = f"{STEPS} durable steps in a task, one task after the other"
    yield Table(title, columns, rows, [target], rounds=rounds)


def _round(
    bench: BenchmarkRun, task: Task[..., Any], telemetry: CountedCalls | None = None
) -> tuple[float, float]:
    """Return the seconds, and the seconds of the server's processor for all tasks."""
    bench.server.clear()
    url = bench.server.url
    with Holdfast.from_url(url, namespace="steps", telemetry=telemetry) as hf:
        hf.enqueue_many([task.call(STEPS) for _ in range(TASKS)])
        worker = hf.worker(tasks, concurrency=1)
        before, began = bench.server.usage(), time.monotonic()
        worker.run(until_idle=True)
        spent, after = time.monotonic() - began, bench.server.usage()
    return spent, after.cpu_s - before.cpu_s
