"""What many programs begin with: `RPUSH` and a `BLPOP` loop on redis-py.

No priorities, delays, retries, leases or results, and a task that its worker took is lost with that
worker: it shows the price of promises, it is no rival.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Sequence
from typing import Any

import redis

from ..contender import ANSWER_S, BATCH, QUEUE, TASK, Blocking, Brief, take_part
from ..task import has_ended, touch


class Seed(Blocking):
    """A list of JSON objects."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._redis = redis.Redis.from_url(brief.url)

    def _packed(self, number: int) -> str:
        """Return the same fields as Holdfast stores."""
        return json.dumps(
            {
                "v": 1,
                "id": uuid.uuid4().hex,
                "task": TASK,
                "args": self.brief.arguments(number),
                "ts": time.time_ns() // 1_000_000,
            }
        )

    def enqueue(self, number: int) -> int:
        self._redis.rpush(QUEUE, self._packed(number))
        return number

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        for start in range(0, len(numbers), BATCH):
            with self._redis.pipeline(transaction=False) as pipeline:
                for number in numbers[start : start + BATCH]:
                    pipeline.rpush(QUEUE, self._packed(number))
                pipeline.execute()

    def result(self, handle: int) -> int:
        """Return whether it ran: no result is kept."""
        deadline_s = time.monotonic() + ANSWER_S
        while not has_ended(handle):
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"task {handle} did not run")
            time.sleep(0.01)
        return handle

    def work(self) -> None:
        functions = {TASK: touch}
        while True:
            popped: Any = self._redis.blpop([QUEUE], 5)
            if popped is not None:
                task = json.loads(popped[1])
                functions[task["task"]](*task["args"])


if __name__ == "__main__":
    take_part(Seed)
