"""SAQ: lists and one key per job, which keeps its result; stuck jobs are swept up."""

from __future__ import annotations

import asyncio
from typing import Any

from saq import Queue, Worker

from ..contender import ANSWER_S, COROUTINES, QUEUE, RESULT_TTL_S, TASK, Asyncio, take_part
from ..task import touch_async


async def _touch(context: dict[str, Any], *, number: int, padding: str = "") -> int:
    del context
    return await touch_async(number, padding)


class Saq(Asyncio):
    """A job is stuck when its time limit has passed; then it is tried again."""

    async def open(self) -> None:
        self._queue = Queue.from_url(self.brief.url, name=QUEUE, max_concurrent_ops=COROUTINES)
        await self._queue.connect()

    async def enqueue(self, number: int) -> Any:
        arguments = dict(zip(("number", "padding"), self.brief.arguments(number), strict=False))
        return await self._queue.enqueue(
            TASK, ttl=RESULT_TTL_S, retries=4, timeout=self.brief.lease_s, **arguments
        )

    async def result(self, handle: Any) -> Any:
        await handle.refresh(until_complete=ANSWER_S)
        return handle.result

    def work(self) -> None:
        async def serve() -> None:
            await Worker(
                Queue.from_url(self.brief.url, name=QUEUE),
                functions=[(TASK, _touch)],
                concurrency=self.brief.places,
                timers={"sweep": max(1, self.brief.lease_s // 2)},
            ).start()

        asyncio.run(serve())


if __name__ == "__main__":
    take_part(Saq)
