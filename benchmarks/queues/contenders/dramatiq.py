"""Dramatiq: threads, and a heartbeat of each process; the dead are looked for by chance."""

from __future__ import annotations

import threading
from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from ..contender import ANSWER_S, QUEUE, RESULT_TTL_S, TASK, Blocking, Brief, take_part
from ..task import touch


class Dramatiq(Blocking):
    """At least once as it is. Options: `maintenance_chance`, of a million commands."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._results = RedisBackend(url=brief.url)
        self._broker = RedisBroker(
            url=brief.url, heartbeat_timeout=brief.lease_s * 1000, **brief.options
        )
        self._broker.add_middleware(
            Results(backend=self._results, store_results=True, result_ttl=RESULT_TTL_S * 1000)
        )
        self._touch = dramatiq.actor(touch, actor_name=TASK, queue_name=QUEUE, broker=self._broker)

    def enqueue(self, number: int) -> Any:
        return self._touch.send(*self.brief.arguments(number))

    def result(self, handle: Any) -> Any:
        return handle.get_result(backend=self._results, block=True, timeout=round(ANSWER_S * 1000))

    def work(self) -> None:
        dramatiq.Worker(self._broker, worker_threads=self.brief.places).start()
        threading.Event().wait()


if __name__ == "__main__":
    take_part(Dramatiq)
