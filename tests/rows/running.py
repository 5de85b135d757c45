"""Refreshers that run beside a test."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from faults.waiting import eventually, eventually_async
from holdfast import AsyncRowCache, RowCache


@asynccontextmanager
async def running_async(cache: AsyncRowCache) -> AsyncIterator[Callable[[], Awaitable[object]]]:
    """Refresh rows within the block; yields what waits until it has begun."""
    task = asyncio.create_task(cache.run())
    try:
        yield lambda: eventually_async(lambda: cache._refresher._flag is not None)  # type: ignore[union-attr]
    finally:
        cache.stop()
        await asyncio.wait_for(task, 30)


@contextmanager
def running(cache: RowCache) -> Iterator[Callable[[], object]]:
    """Refresh rows within the block; yields what waits until it has begun."""
    thread = threading.Thread(target=cache.run)
    thread.start()
    try:
        yield lambda: eventually(lambda: cache._refresher._flag is not None)  # type: ignore[union-attr]
    finally:
        cache.stop()
        thread.join(30)
        assert not thread.is_alive()
