"""What the calls of a client share, in one process and, in asyncio, in one loop."""

from __future__ import annotations

from typing import Final, TypeAlias

from ..concurrency._async.waiting import Gate, Local
from ..ledger import Writers
from ..transport.settings import Settings
from .router import AsyncRouter

CROWD: Final = 64
"""Of those who are in no hurry, so many make their calls at a time."""


class AsyncCallSession:
    """What belongs to one process, and in asyncio to one loop."""

    __slots__ = ("crowd", "routes", "writers")

    def __init__(self, settings: Settings) -> None:
        self.routes = AsyncRouter(settings)
        self.writers = Writers()
        self.crowd = Gate(CROWD)

    def hang_up(self) -> None:
        """Close its connections at once."""
        self.routes.abort()


AsyncCallSessions: TypeAlias = Local[AsyncCallSession]
"""Those of a client, in all loops of this process."""


def hang_up(sessions: AsyncCallSessions) -> bool:
    """Have each of *sessions* close its connections, without waiting. Takes no lock.

    Returns:
        Whether there were any.
    """
    return sessions.dismiss(AsyncCallSession.hang_up)
