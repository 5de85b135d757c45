"""Huey: threads on a list; what a worker has popped is lost with it."""

from __future__ import annotations

from typing import Any

from huey import RedisHuey

from ..contender import ANSWER_S, QUEUE, TASK, Blocking, Brief, take_part
from ..task import touch


class Huey(Blocking):
    """At most once: there is no other way on Redis."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._huey = RedisHuey(QUEUE, url=brief.url)
        self._touch = self._huey.task(name=TASK)(touch)

    def enqueue(self, number: int) -> Any:
        return self._touch(*self.brief.arguments(number))

    def result(self, handle: Any) -> Any:
        return handle.get(blocking=True, timeout=ANSWER_S, preserve=True)

    def work(self) -> None:
        self._huey.create_consumer(
            workers=self.brief.places, worker_type="thread", periodic=False
        ).run()


if __name__ == "__main__":
    take_part(Huey)
