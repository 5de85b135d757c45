"""Holdfast on asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from holdfast import AsyncHoldfast, AsyncTaskHandle, Call, TaskRegistry

from ..contender import ANSWER_S, QUEUE, RESULT_TTL_S, TASK, Asyncio, Brief, take_part
from ..task import touch_async


class AsyncHoldfastContender(Asyncio):
    """Ours."""

    def __init__(self, brief: Brief) -> None:
        super().__init__(brief)
        self._tasks = TaskRegistry()
        self._touch = self._tasks.task(queue=QUEUE, name=TASK, result_ttl=float(RESULT_TTL_S))(
            touch_async
        )

    async def open(self) -> None:
        self._hf = AsyncHoldfast.from_url(self.brief.url, namespace=QUEUE)

    def _call(self, number: int) -> Call[Any]:
        return self._touch.call(*self.brief.arguments(number))

    async def enqueue(self, number: int) -> AsyncTaskHandle[Any]:
        return await self._hf.enqueue(self._call(number))

    async def enqueue_many(self, numbers: Sequence[int]) -> None:
        await self._hf.enqueue_many(map(self._call, numbers))

    async def result(self, handle: AsyncTaskHandle[Any]) -> Any:
        return await handle.result(timeout=ANSWER_S)

    def work(self) -> None:
        async def serve() -> None:
            await self.open()
            await self._hf.worker(
                self._tasks, concurrency=self.brief.places, lease=float(self.brief.lease_s)
            ).run()

        asyncio.run(serve())


if __name__ == "__main__":
    take_part(AsyncHoldfastContender)
