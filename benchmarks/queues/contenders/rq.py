"""RQ: its worker that runs jobs in its own process, much faster than the one that forks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis import Redis
from rq import Queue, Retry, SimpleWorker
from rq.worker_pool import WorkerPool

from ..contender import ANSWER_S, BATCH, QUEUE, RESULT_TTL_S, Blocking, Brief, take_part
from ..task import touch


class Rq(Blocking):
    """A job of a vanished worker is tried again, a minute after its time limit at the earliest.

    Option `pool`: a pool of so many workers as there are places, each in a process of its own.
    """

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._redis = Redis.from_url(brief.url)
        self._queue = Queue(QUEUE, connection=self._redis)
        self._options: dict[str, Any] = {
            "result_ttl": RESULT_TTL_S,
            "retry": Retry(max=3),
        }

    def enqueue(self, number: int) -> Any:
        return self._queue.enqueue(
            touch,
            args=self.brief.arguments(number),
            job_timeout=self.brief.lease_s,
            **self._options,
        )

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        for start in range(0, len(numbers), BATCH):
            self._queue.enqueue_many(
                Queue.prepare_data(
                    touch,
                    args=self.brief.arguments(number),
                    timeout=self.brief.lease_s,
                    **self._options,
                )
                for number in numbers[start : start + BATCH]
            )

    def result(self, handle: Any) -> Any:
        return handle.latest_result(timeout=round(ANSWER_S)).return_value

    def work(self) -> None:
        if self.brief.options.get("pool"):
            pool = WorkerPool(
                [self._queue],
                connection=self._redis,
                num_workers=self.brief.places,
                worker_class=SimpleWorker,
            )
            pool.start(logging_level="WARNING")
            return
        SimpleWorker(
            [self._queue], connection=self._redis, maintenance_interval=self.brief.lease_s
        ).work(logging_level="WARNING")


if __name__ == "__main__":
    take_part(Rq)
