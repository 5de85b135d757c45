"""Wait for the first of several events."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from starlette.requests import Request

T = TypeVar("T")


async def first(*works: Awaitable[Any]) -> int:
    """Run all *works* until one ends, then cancel the others.

    Returns:
        The index of the work that ended.

    Raises:
        Exception: the exception of the work that ended.
    """
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        ended = next(i for i, task in enumerate(tasks) if task.done())
        tasks[ended].result()
        return ended
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def unless_over(request: Request, closing: asyncio.Event, waiting: Awaitable[T]) -> T | None:
    """Return the result of *waiting*, or None if the client disconnects or *closing* is set."""
    work = asyncio.ensure_future(waiting)
    ended = await first(work, _disconnected(request), closing.wait())
    return work.result() if ended == 0 else None


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
