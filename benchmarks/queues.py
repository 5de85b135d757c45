"""The task queue beside the plain list that many programs begin with.

The yardstick is `RPUSH` and a `BLPOP` loop on redis-py. It has no priorities, delays, retries or
leases, and a task that its worker took is lost with that worker: it shows the price of promises, it
is no rival. The worker is measured from its start to its end, its last verdicts included.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import redis

from holdfast import Holdfast, TaskRegistry

from .harness import Bench, Case
from .report import Table

SINGLE: Final = 500
BULK: Final = 3_000
DRAIN: Final = 3_000

PAGE: Final = 500
"""Tasks in one pipeline of the yardstick: as many as Holdfast puts in one step."""

LIST: Final = "benchmarks:tasks"
TASK: Final = "sold"

ARGS: Final = ("17", "itemX", 97, "27")


def run(bench: Bench) -> Iterator[Table]:
    """Enqueue one by one, enqueue many, and work off."""
    clear = bench.server.clear
    with (
        Holdfast.from_url(bench.server.url, namespace="benchmarks") as hf,
        redis.Redis.from_url(bench.server.url) as client,
    ):
        sales = _Sales(hf)
        yield bench.compared(
            "enqueue, one call per task",
            Case("holdfast enqueue", sales.enqueue_each, clear),
            [Case("RPUSH", partial(_push_each, client), clear)],
            SINGLE,
        )
        yield bench.compared(
            "enqueue many",
            Case("holdfast enqueue_many", sales.enqueue_many, clear),
            [Case("RPUSH, pipelined", partial(_push_many, client), clear)],
            BULK,
        )
        waiting = bench.scaled(DRAIN)
        yield bench.compared(
            "work off no-ops",
            Case("holdfast worker", sales.work_off, _refill(clear, sales.enqueue_many, waiting)),
            [
                Case(
                    "BLPOP loop",
                    partial(_pop_each, client),
                    _refill(clear, partial(_push_many, client), waiting),
                )
            ],
            DRAIN,
        )


class _Sales:
    """Tasks that do next to nothing, and a worker that ends with the last of them."""

    def __init__(self, hf: Holdfast) -> None:
        tasks = TaskRegistry()
        self._hf = hf
        self._task = tasks.task(name=TASK, queue="benchmarks")(self._sold)
        self._worker = hf.worker(tasks)
        self._left = 0

    def enqueue_each(self, count: int) -> None:
        for _ in range(count):
            self._hf.enqueue(self._task.call(*ARGS))

    def enqueue_many(self, count: int) -> None:
        self._hf.enqueue_many(self._task.call(*ARGS) for _ in range(count))

    def work_off(self, count: int) -> None:
        self._left = count
        self._worker.run()

    async def _sold(self, seller: str, item: str, price: int, buyer: str) -> None:
        del seller, item, price, buyer
        self._left -= 1
        if self._left == 0:
            self._worker.stop()


def _refill(
    clear: Callable[[], None], fill: Callable[[int], None], count: int
) -> Callable[[], None]:
    """Prepares a round that begins with *count* tasks in line and nothing else."""

    def refill() -> None:
        clear()
        fill(count)

    return refill


def _push_each(client: redis.Redis, count: int) -> None:
    for _ in range(count):
        client.rpush(LIST, _packed())


def _push_many(client: redis.Redis, count: int) -> None:
    for start in range(0, count, PAGE):
        with client.pipeline(transaction=False) as pipeline:
            for _ in range(min(PAGE, count - start)):
                pipeline.rpush(LIST, _packed())
            pipeline.execute()


def _pop_each(client: redis.Redis, count: int) -> None:
    functions: dict[str, Callable[..., object]] = {TASK: lambda *_: None}
    for _ in range(count):
        popped: Any = client.blpop([LIST], 30)
        task = json.loads(popped[1])
        functions[task["task"]](*task["args"], **task["kwargs"])


def _packed() -> str:
    """The same fields as Holdfast stores."""
    return json.dumps(
        {
            "v": 1,
            "id": uuid.uuid4().hex,
            "queue": "benchmarks",
            "task": TASK,
            "args": ARGS,
            "kwargs": {},
            "enqueued_at": round(time.time(), 3),
        }
    )
