# Generated from _async/session.py by tools/unasync.py: edit that, then run `make sync`.
"""Hold the connections and the writers that the calls of a client share."""

from __future__ import annotations

from typing import Final, TypeAlias

from ..concurrency._sync.local_resource import LocalResource
from ..concurrency._sync.primitives import LocalSemaphore
from ..ledger import Writers
from ..transport.settings import Settings
from .layout_check import LayoutCheck
from .router import Router

READ_LIMIT: Final = 64
"""Largest number of concurrent calls of low priority."""


class CallSession:
    """The router, the writers and the read limiter of one process (in asyncio: of one loop).

    Args:
        settings: settings of the client.
        layout: checks the layout of the namespace.
    """

    __slots__ = ("layout", "read_limiter", "router", "writers")

    def __init__(self, settings: Settings, layout: LayoutCheck) -> None:
        self.layout = layout
        self.router = Router(settings)
        self.writers = Writers()
        self.read_limiter = LocalSemaphore(READ_LIMIT)

    def close(self) -> None:
        """Close all connections after their calls."""
        self.router.close()
        self.layout.close()

    def abort(self) -> None:
        """Close all connections at once."""
        self.router.abort()


CallSessions: TypeAlias = LocalResource[CallSession]
"""The sessions of a client, one for each loop of this process."""


def abort_all(sessions: CallSessions) -> bool:
    """Close the connections of all *sessions*, without waiting and without a lock.

    Returns:
        Whether there was a session.
    """
    return sessions.release_all(CallSession.abort)
