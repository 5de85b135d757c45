# Generated from _async/listing.py by tools/unasync.py: edit that, then run `make sync`.
"""Which locks and semaphores are in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from ...core._sync.caller import Caller, Step
from ...core._sync.catalog import Catalog
from ...core.names import Namespace, Unit
from ...errors import DamagedData, DecodeError, HoldfastError
from ...errors.records import logger_of
from .. import keys
from ..states import LockState, SemaphoreState, lock_state, semaphore_state
from .lock import INSPECT

logger: Final = logger_of("holdfast.locks")

State = TypeVar("State", LockState, SemaphoreState)

LISTED: Final = 1000
"""States that one call returns at most."""

_TOGETHER: Final = 500
"""Units that are asked for at once."""


class LockListing:
    """Calls the roll: asks every unit of the catalog who is there.

    The catalog says which names there may be, their state says which are in use. Renewers note
    them, so one that is never held for half a second may be missing.

    Args:
        caller: how to reach the server.
        catalog: what was noted.
        namespace: whose units.
    """

    def __init__(self, caller: Caller, catalog: Catalog, namespace: Namespace) -> None:
        self._caller = caller
        self._catalog = catalog
        self._namespace = namespace

    def locks(self, among: int, containing: str = "") -> dict[str, LockState]:
        """The locks that are held or waited for, by name."""
        found = {}
        for unit, reply in self._replies(keys.LOCK, among, containing):
            state = _readable(lock_state, unit, reply)
            if state is None:
                continue
            if state.holder is not None or state.waiters:
                found[unit.name] = state
            if len(found) == LISTED:
                break
        return found

    def semaphores(self, among: int, containing: str = "") -> dict[str, SemaphoreState]:
        """The semaphores of which places are held or waited for, by name."""
        found = {}
        for unit, reply in self._replies(keys.SEMAPHORE, among, containing):
            state = _readable(semaphore_state, unit, reply)
            if state is None:
                continue
            if state.holders or state.waiters:
                found[unit.name] = state
            if len(found) == LISTED:
                break
        return found

    def _replies(self, kind: str, among: int, containing: str) -> Iterator[tuple[Unit, Any]]:
        """What `inspect.lua` says of each noted unit; what is gone is dropped from the catalog."""
        names = self._catalog.every(kind, among, containing)
        for i in range(0, len(names), _TOGETHER):
            units = [self._namespace.unit(kind, name) for name in names[i : i + _TOGETHER]]
            replies = self._caller.call_many(INSPECT, [_step(unit) for unit in units])
            gone = []
            for unit, reply in zip(units, replies, strict=True):
                if isinstance(reply, DamagedData):
                    logger.warning("%s", reply)
                    continue
                if isinstance(reply, HoldfastError):
                    raise reply
                if _is_gone(reply):
                    gone.append(unit)
                else:
                    yield unit, reply
            # Nobody has come for a week; whoever comes now is noted only after this.
            self._catalog.forget_all(kind, gone)


def _step(unit: Unit) -> Step:
    return unit, (keys.state(unit), keys.holders(unit), keys.line(unit)), ()


def _readable(read: Callable[[Any, str], State], unit: Unit, reply: Any) -> State | None:
    """Return what *reply* says of *unit*; None, with a warning, if it cannot be read."""
    try:
        return read(reply, keys.state(unit))
    except DecodeError as error:
        logger.warning("%s is left out of the list: %s", unit, error)
        return None


def _is_gone(reply: Any) -> bool:
    limit, fence, held, waiters = reply
    return not (limit or fence or held or waiters)
