"""Holdfast, blocking: the task is a coroutine, or a plain function in threads (`plain`).

With the option `queues` there are so many, which get tasks in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast import Call, Holdfast, TaskHandle, TaskRegistry

from ..contender import ANSWER_S, QUEUE, RESULT_TTL_S, TASK, Blocking, Brief, take_part
from ..task import touch, touch_async


class HoldfastContender(Blocking):
    """Ours."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        function = touch if brief.options.get("plain") else touch_async
        self._tasks = TaskRegistry()
        ends = ["", *map(str, range(1, brief.options.get("queues", 1)))]
        self._touches = [
            self._tasks.task(
                queue=f"{QUEUE}{end}", name=f"{TASK}{end}", result_ttl=float(RESULT_TTL_S)
            )(function)
            for end in ends
        ]
        self._hf = Holdfast.from_url(brief.url, namespace=QUEUE)

    def _call(self, number: int) -> Call[Any]:
        task = self._touches[number % len(self._touches)]
        return task.call(*self.brief.arguments(number))

    def enqueue(self, number: int) -> TaskHandle[Any]:
        return self._hf.enqueue(self._call(number))

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        self._hf.enqueue_many(map(self._call, numbers))

    def result(self, handle: TaskHandle[Any]) -> Any:
        return handle.result(timeout=ANSWER_S)

    def work(self) -> None:
        self._hf.worker(
            self._tasks, concurrency=self.brief.places, lease=float(self.brief.lease_s)
        ).run()


if __name__ == "__main__":
    take_part(HoldfastContender)
