"""taskiq with a stream as its broker, the one of its brokers that acknowledges."""

from __future__ import annotations

import asyncio
from typing import Any

from taskiq.api import run_receiver_task
from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

from ..contender import ANSWER_S, QUEUE, RESULT_TTL_S, TASK, Asyncio, Brief, take_part
from ..task import touch_async


class Taskiq(Asyncio):
    """A message is acknowledged once its result is saved, its default."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        results: Any = RedisAsyncResultBackend(brief.url, result_ex_time=RESULT_TTL_S)
        self._broker = RedisStreamBroker(
            brief.url,
            queue_name=QUEUE,
            consumer_id="0",  # what was enqueued before the first worker counts, too
            idle_timeout=brief.lease_s * 1000,
            unacknowledged_lock_timeout=brief.lease_s,
        ).with_result_backend(results)
        self._touch = self._broker.register_task(touch_async, TASK)

    async def open(self) -> None:
        await self._broker.startup()

    async def enqueue(self, number: int) -> Any:
        return await self._touch.kiq(*self.brief.arguments(number))

    async def result(self, handle: Any) -> Any:
        found = await handle.wait_result(check_interval=0.02, timeout=ANSWER_S)
        return found.return_value

    def work(self) -> None:
        async def serve() -> None:
            self._broker.is_worker_process = True
            await self._broker.startup()
            await run_receiver_task(self._broker, max_async_tasks=self.brief.places)

        asyncio.run(serve())


if __name__ == "__main__":
    take_part(Taskiq)
