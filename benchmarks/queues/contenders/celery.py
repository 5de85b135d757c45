"""Celery: acknowledged late, in its pool `solo`, `threads` or `prefork`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from celery import Celery

from ..contender import ANSWER_S, QUEUE, RESULT_TTL_S, TASK, Blocking, Brief, take_part
from ..task import touch


class CeleryContender(Blocking):
    """Options: `pool`, and `prefetch`, the tasks that are fetched ahead for each place."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._app = Celery(QUEUE, broker=brief.url, backend=brief.url)
        self._app.conf.update(
            broker_transport_options={"visibility_timeout": brief.lease_s},
            result_expires=RESULT_TTL_S,
            task_acks_late=True,
            task_reject_on_worker_lost=True,
            worker_prefetch_multiplier=brief.options["prefetch"],
        )
        self._touch = self._app.task(name=TASK)(touch)

    def enqueue(self, number: int) -> Any:
        return self._touch.apply_async(self.brief.arguments(number))

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        with self._app.producer_pool.acquire() as producer:
            for number in numbers:
                self._touch.apply_async(self.brief.arguments(number), producer=producer)

    def result(self, handle: Any) -> Any:
        return handle.get(timeout=ANSWER_S)

    def work(self) -> None:
        pool = ["--pool", self.brief.options["pool"], "--concurrency", str(self.brief.places)]
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
        self._app.worker_main(["worker", "--loglevel", "WARNING", *pool, *quiet])


if __name__ == "__main__":
    take_part(CeleryContender)
