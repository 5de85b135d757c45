"""Hold the connections and the writers that the calls of a client share."""

from __future__ import annotations

from typing import Final, TypeAlias

from ..concurrency._async.local_resource import LocalResource
from ..concurrency._async.primitives import LocalSemaphore
from ..ledger import Writers
from ..transport.settings import Settings
from .layout_check import AsyncLayoutCheck
from .router import AsyncRouter

READ_LIMIT: Final = 64
"""Largest number of concurrent calls of low priority."""


class AsyncCallSession:
    """The router, the writers and the read limiter of one process (in asyncio: of one loop).

    Args:
        settings: settings of the client.
        layout: checks the layout of the namespace.
    """

    __slots__ = ("layout", "read_limiter", "router", "writers")

    def __init__(self, settings: Settings, layout: AsyncLayoutCheck) -> None:
        self.layout = layout
        self.router = AsyncRouter(settings)
        self.writers = Writers()
        self.read_limiter = LocalSemaphore(READ_LIMIT)

    async def close(self) -> None:
        """Close all connections after their calls."""
        await self.router.close()
        await self.layout.close()

    def abort(self) -> None:
        """Close all connections at once."""
        self.router.abort()


AsyncCallSessions: TypeAlias = LocalResource[AsyncCallSession]
"""The sessions of a client, one for each loop of this process."""


def abort_all(sessions: AsyncCallSessions) -> bool:
    """Close the connections of all *sessions*, without waiting and without a lock.

    Returns:
        Whether there was a session.
    """
    return sessions.release_all(AsyncCallSession.abort)
