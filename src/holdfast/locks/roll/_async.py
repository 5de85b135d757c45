"""Which locks and semaphores are in use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from ...core.call._async import AsyncCaller
from ...core.catalog._async import AsyncCatalog
from ...core.names import Namespace
from .. import keys
from .._async import INSPECT
from ..states import LockState, SemaphoreState, lock_state, semaphore_state

LISTED: Final = 1000
"""States that one call returns at most."""


class AsyncRoll:
    """Calls the roll: asks every unit of the catalog who is there.

    The catalog says which names there may be, their state says which are in use. Renewers note
    them, so one that is never held for half a second may be missing.

    Args:
        caller: how to reach the server.
        catalog: what was noted.
        namespace: whose units.
    """

    def __init__(self, caller: AsyncCaller, catalog: AsyncCatalog, namespace: Namespace) -> None:
        self._caller = caller
        self._catalog = catalog
        self._namespace = namespace

    async def locks(self) -> dict[str, LockState]:
        """The locks that are held or waited for, by name."""
        found = {}
        async for name, reply in self._replies(keys.LOCK):
            state = lock_state(reply)
            if state.holder is not None or state.waiters:
                found[name] = state
            if len(found) == LISTED:
                break
        return found

    async def semaphores(self) -> dict[str, SemaphoreState]:
        """The semaphores of which places are held or waited for, by name."""
        found = {}
        async for name, reply in self._replies(keys.SEMAPHORE):
            state = semaphore_state(reply)
            if state.holders or state.waiters:
                found[name] = state
            if len(found) == LISTED:
                break
        return found

    async def _replies(self, kind: str) -> AsyncIterator[tuple[str, Any]]:
        """What `inspect.lua` says of each noted unit; what is gone is dropped from the catalog."""
        for name in await self._catalog.every(kind):
            unit = self._namespace.unit(kind, name)
            names = (keys.state(unit), keys.holders(unit), keys.line(unit))
            reply = await self._caller.call(INSPECT, unit, names, [])
            if _is_gone(reply):
                # Nobody has come for a week; whoever comes now is noted only after this.
                await self._catalog.forget(unit)
            else:
                yield name, reply


def _is_gone(reply: Any) -> bool:
    limit, fence, held, waiters = reply
    return not (limit or fence or held or waiters)
