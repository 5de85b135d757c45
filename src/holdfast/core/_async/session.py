"""What the calls of a client share, in one process and, in asyncio, in one loop."""

from __future__ import annotations

from typing import Final, TypeAlias

from ..concurrency._async.local_resource import LocalResource
from ..concurrency._async.primitives import Semaphore
from ..ledger import Writers
from ..transport.settings import Settings
from .router import AsyncRouter

READ_LIMIT: Final = 64
"""Concurrent calls of low priority."""


class AsyncCallSession:
    """What belongs to one process, and in asyncio to one loop."""

    __slots__ = ("read_limiter", "router", "writers")

    def __init__(self, settings: Settings) -> None:
        self.router = AsyncRouter(settings)
        self.writers = Writers()
        self.read_limiter = Semaphore(READ_LIMIT)

    def abort(self) -> None:
        """Close its connections at once."""
        self.router.abort()


AsyncCallSessions: TypeAlias = LocalResource[AsyncCallSession]
"""The sessions of a client, in all loops of this process."""


def abort_all(sessions: AsyncCallSessions) -> bool:
    """Close the connections of each of *sessions*, without waiting. Takes no lock.

    Returns:
        Whether there were any.
    """
    return sessions.release_all(AsyncCallSession.abort)
