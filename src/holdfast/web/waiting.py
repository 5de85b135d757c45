"""Waiting for whatever comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from starlette.requests import Request

T = TypeVar("T")


async def first(*works: Awaitable[Any]) -> int:
    """Do all *works* until one ends; the others are cancelled.

    Returns:
        The place of the one that ended.

    Raises:
        Exception: what it raised.
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
    """What *waiting* gives; None as soon as the client has gone, or the gateway closes."""
    work = asyncio.ensure_future(waiting)
    ended = await first(work, _gone(request), closing.wait())
    return work.result() if ended == 0 else None


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
