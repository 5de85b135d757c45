"""List the locks and semaphores that are held or waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeVar

from ...core._async.caller import AsyncCaller, Step
from ...core._async.catalog import AsyncCatalog
from ...core.names import Namespace, Unit
from ...core.script import Script
from ...errors import DamagedData, DecodeError, HoldfastError
from ...errors.one_line_logger import logger_of
from .. import keys
from ..states import (
    LockState,
    RwLockState,
    SemaphoreState,
    lock_state,
    rw_lock_state,
    semaphore_state,
)
from .lock import INSPECT
from .rw_lock import RW_INSPECT

logger: Final = logger_of("holdfast.locks")

State = TypeVar("State", LockState, RwLockState, SemaphoreState)

LISTED: Final = 1000
"""Largest number of states that one call returns."""

_BATCH: Final = 500
"""Number of units that are read in one batch."""


class AsyncLockListing:
    """Lists the locks and semaphores that are held or waited for.

    The names come from the catalog, in which renewers record locks that are held for half a second.
    A lock that was never held for so long may be missing.

    Args:
        caller: calls the server.
        catalog: the catalog of names.
        namespace: namespace of the units.
    """

    def __init__(self, caller: AsyncCaller, catalog: AsyncCatalog, namespace: Namespace) -> None:
        self._caller = caller
        self._catalog = catalog
        self._namespace = namespace

    async def locks(self, among: int, containing: str = "") -> dict[str, LockState]:
        """Return the locks that are held or waited for, by name."""
        return await self._in_use(keys.LOCK, lock_state, among, containing)

    async def semaphores(self, among: int, containing: str = "") -> dict[str, SemaphoreState]:
        """Return the semaphores that are held or waited for, by name."""
        return await self._in_use(keys.SEMAPHORE, semaphore_state, among, containing)

    async def rw_locks(self, among: int, containing: str = "") -> dict[str, RwLockState]:
        """Return the reader-writer locks that are held or waited for, by name."""
        return await self._in_use(keys.RW_LOCK, rw_lock_state, among, containing, RW_INSPECT)

    async def _in_use(
        self,
        kind: str,
        parse: Callable[[Any, str], State],
        among: int,
        containing: str,
        script: Script = INSPECT,
    ) -> dict[str, State]:
        found: dict[str, State] = {}
        async for unit, reply in self._replies(kind, among, containing, script):
            state = _parsed(parse, unit, reply)
            # Holders and waiters are the arrays in the reply. The other values are stored for a
            # week after the last use.
            if state is not None and any(each for each in reply if isinstance(each, list)):
                found[unit.name] = state
            if len(found) == LISTED:
                break
        return found

    async def _replies(
        self, kind: str, among: int, containing: str, script: Script
    ) -> AsyncIterator[tuple[Unit, Any]]:
        """Yield the reply of *script* for each unit. Remove expired units from the catalog."""
        names = await self._catalog.every(kind, among, containing)
        for i in range(0, len(names), _BATCH):
            units = [self._namespace.unit(kind, name) for name in names[i : i + _BATCH]]
            steps: list[Step] = [(unit, script.keys(unit), ()) for unit in units]
            replies = await self._caller.call_many(script, steps)
            gone = []
            for unit, reply in zip(units, replies, strict=True):
                if isinstance(reply, DamagedData):
                    logger.warning("%s", reply)
                elif isinstance(reply, HoldfastError):
                    raise reply
                elif any(reply):
                    yield unit, reply
                else:
                    gone.append(unit)
            # Their keys have expired. A client that uses one of them again records it again.
            await self._catalog.forget_all(kind, gone)


def _parsed(parse: Callable[[Any, str], State], unit: Unit, reply: Any) -> State | None:
    """Return the state of *unit*. If it cannot be read, log a warning and return None."""
    try:
        return parse(reply, keys.state(unit))
    except DecodeError as error:
        logger.warning("%s is left out of the list: %s", unit, error)
        return None
