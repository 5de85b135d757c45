"""Asking about many things at once, in few round trips: calls of one loop turn travel together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar

from ... import AsyncHoldfast, QueueStats

SURVEYED: Final = 250
"""Queues whose numbers are asked for at once, those used last: 10,000 would take seconds."""

K = TypeVar("K")
V = TypeVar("V")


async def for_each(keys: Iterable[K], ask: Callable[[K], Awaitable[V]]) -> dict[K, V]:
    """What *ask* says of each of *keys*."""
    asked = list(keys)
    return dict(zip(asked, await asyncio.gather(*map(ask, asked)), strict=True))


async def stats_of(hf: AsyncHoldfast, queues: Iterable[str]) -> dict[str, QueueStats]:
    """The numbers of each of *queues*."""
    return await for_each(queues, lambda queue: hf.queue(queue).stats())
