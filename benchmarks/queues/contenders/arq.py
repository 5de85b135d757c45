"""arq: a ZSET that is polled; a job in progress is marked by a key that expires."""

from __future__ import annotations

from typing import Any

from arq import create_pool, func
from arq.connections import RedisSettings
from arq.worker import Worker

from ..contender import ANSWER_S, RESULT_TTL_S, TASK, Asyncio, take_part
from ..task import touch_async

_EXTRA_S = 10
"""A job counts as lost this long after its time limit; arq's own choice."""


async def _touch(context: dict[str, Any], *arguments: Any) -> int:
    del context
    return await touch_async(*arguments)


class Arq(Asyncio):
    """At least once as it is."""

    async def open(self) -> None:
        self._pool = await create_pool(RedisSettings.from_dsn(self.brief.url))

    async def enqueue(self, number: int) -> Any:
        return await self._pool.enqueue_job(TASK, *self.brief.arguments(number))

    async def result(self, handle: Any) -> Any:
        return await handle.result(timeout=ANSWER_S, poll_delay=0.02)

    def work(self) -> None:
        Worker(
            [func(_touch, name=TASK)],
            redis_settings=RedisSettings.from_dsn(self.brief.url),
            max_jobs=self.brief.places,
            poll_delay=0.02,
            job_timeout=max(2, self.brief.lease_s - _EXTRA_S),
            keep_result=RESULT_TTL_S,
            log_results=False,
        ).run()


if __name__ == "__main__":
    take_part(Arq)
