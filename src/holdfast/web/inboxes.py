"""How many chats the users have: reading an inbox looks at all of them."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from .. import AsyncHoldfast
from .limits import REMEMBERED

FRESH_S: Final = 60.0
"""Seconds for which a number of chats counts."""


class InboxSizes:
    """Counts the chats of users, of each at most once a minute.

    Args:
        hf: where the chats are.
        clock: seconds that never go back.
    """

    def __init__(self, hf: AsyncHoldfast, clock: Callable[[], float] = time.monotonic) -> None:
        self._hf = hf
        self._clock = clock
        self._known: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[int]] = {}

    async def of(self, user: str) -> int:
        """Return the number of chats of *user*; concurrent calls ask the server once."""
        count, at = self._known.get(user, (0, -FRESH_S))
        if self._clock() - at < FRESH_S:
            return count
        if user not in self._asking:
            task = self._asking[user] = asyncio.ensure_future(self._count(user))
            task.add_done_callback(lambda _: self._asking.pop(user, None))
        return await asyncio.shield(self._asking[user])

    async def _count(self, user: str) -> int:
        count = await self._hf.inbox(user).size()
        self._known[user] = (count, self._clock())
        self._known.move_to_end(user)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return count
