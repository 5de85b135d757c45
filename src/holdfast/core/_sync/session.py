# Generated from _async/session.py by tools/unasync.py: edit that, then run `make sync`.
"""What the calls of a client share, in one process and, in asyncio, in one loop."""

from __future__ import annotations

from typing import Final, TypeAlias

from ..concurrency._sync.local_resource import LocalResource
from ..concurrency._sync.primitives import Semaphore
from ..ledger import Writers
from ..transport.settings import Settings
from .router import Router

READ_LIMIT: Final = 64
"""Concurrent calls of low priority."""


class CallSession:
    """What belongs to one process, and in asyncio to one loop."""

    __slots__ = ("read_limiter", "router", "writers")

    def __init__(self, settings: Settings) -> None:
        self.router = Router(settings)
        self.writers = Writers()
        self.read_limiter = Semaphore(READ_LIMIT)

    def abort(self) -> None:
        """Close its connections at once."""
        self.router.abort()


CallSessions: TypeAlias = LocalResource[CallSession]
"""The sessions of a client, in all loops of this process."""


def abort_all(sessions: CallSessions) -> bool:
    """Close the connections of each of *sessions*, without waiting. Takes no lock.

    Returns:
        Whether there were any.
    """
    return sessions.release_all(CallSession.abort)
