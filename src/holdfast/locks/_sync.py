# Generated from _async.py by tools/unasync.py: edit that one, then `make sync`.
"""Locks and semaphores as their users see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from types import TracebackType
from typing import Final

from ..core.clock import Deadline, Duration, to_timeout_s
from ..core.runtime._sync import shielded
from ..core.script import Script
from . import keys
from .lease._sync import Lease
from .places._sync import Places
from .states import LockState, SemaphoreState, lock_state, semaphore_state
from .terms import checked_limit
from .turn._sync import take

INSPECT: Final = Script.load("holdfast.locks", "inspect")
REDEFINE: Final = Script.load("holdfast.locks", "redefine")


class _AsyncHeld:
    """What locks and semaphores have in common."""

    def __init__(self, places: Places) -> None:
        self._places = places

    @property
    def name(self) -> str:
        """As it was given."""
        return self._places.unit.name

    def check_client(self) -> None:
        """Raise `ClientClosed` if its client was closed."""
        self._places.caller.lifetime.check(f"holding {self._places.unit}")

    def hold(self, *, timeout: Duration | None = None) -> AbstractContextManager[Lease]:
        """Hold a place while the block runs.

        In asyncio the body is cancelled when the lease is lost. A thread cannot be cancelled: there
        the body looks at `lease.lost` itself.

        Args:
            timeout: seconds to wait for a place; None for ever, 0 not at all.

        Raises:
            LockTimeout: none was free in time.
            LeaseLost: at the end of the block: the lease was lost while it ran. Not if the body
                raised something else.
        """
        return _AsyncHold(self._places, to_timeout_s(timeout))

    def acquire(self, *, timeout: Duration | None = None) -> Lease:
        """Wait for a place: first come, first served.

        A cancelled or failed call leaves neither a place nor a waiter behind, as long as the server
        can be told.

        Args:
            timeout: seconds to wait; None for ever, 0 not at all.

        Returns:
            The lease. Release it, or use it as a context.

        Raises:
            LockTimeout: no place was free in time.
            ServerUnavailable: the server cannot be asked. If it went away in the middle of the
                call, a place may stay taken until a lease has passed.
        """
        return take(self._places, to_timeout_s(timeout))

    def try_acquire(self) -> Lease | None:
        """A place if one is free and nobody waits for it, else None.

        Raises:
            ServerUnavailable: the server cannot be asked. If it went away in the middle of the
                call, a place may stay taken until a lease has passed.
        """
        return take(self._places, 0, waits=False)


class _AsyncHold:
    """A place for one block. A class: a context made of a generator costs as much as a call."""

    __slots__ = ("_lease", "_places", "_timeout_s")

    def __init__(self, places: Places, timeout_s: float | None) -> None:
        self._places: Places | None = places
        self._lease: Lease | None = None
        self._timeout_s = timeout_s

    def __enter__(self) -> Lease:
        places, self._places = self._places, None
        if places is None:
            raise RuntimeError("it was for another block; call `hold` for each")
        lease = None
        try:
            lease = self._lease = take(places, self._timeout_s)
            return lease.__enter__()
        except BaseException:
            if lease is not None:
                shielded(lease.give_up)
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._lease is not None:
                self._lease.__exit__(kind, error, traceback)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Release what an exception has kept from being released; otherwise do nothing."""
        if self._lease is not None:
            self._lease.abandon()

    def __del__(self) -> None:
        # Only the `with` statement knows this object, so the block is over. If an exception came
        # instead of `__exit__`, a variable may still hold the lease.
        if getattr(self, "_lease", None) is not None:
            self.abandon()


class Lock(_AsyncHeld):
    """A lock by name: at most one holds it at a time.

    Made by `Holdfast.lock`; costs nothing, and serves all tasks and threads.
    """

    def __repr__(self) -> str:
        return f"Lock({self.name!r})"

    def inspect(self) -> LockState:
        """Who holds it now, and who waits."""
        places = self._places
        reply = places.caller.call(INSPECT, places.unit, INSPECT.keys(places.unit), [])
        return lock_state(reply, keys.state(places.unit))


class Semaphore(_AsyncHeld):
    """A semaphore by name: at most so many hold it at a time.

    Made by `Holdfast.semaphore`; costs nothing, and serves all tasks and threads.
    """

    def __repr__(self) -> str:
        return f"Semaphore({self.name!r})"

    def inspect(self) -> SemaphoreState:
        """Who holds it now, and who waits."""
        places = self._places
        reply = places.caller.call(INSPECT, places.unit, INSPECT.keys(places.unit), [])
        return semaphore_state(reply, keys.state(places.unit))

    def redefine(self, *, limit: int, op_id: str | None = None) -> None:
        """Change how many may hold at once, for everyone.

        With a higher limit those who wait get the new places at once. With a lower one nobody loses
        a place: nobody gets one until enough were given back. This object says the new limit from
        now on; who still says the old one gets `DefinitionConflict`, whoever is waiting as well
        when it asks next.

        Args:
            limit: how many.
            op_id: see `OutcomeUnknown`.
        """
        places, size = self._places, checked_limit(limit)
        again = partial(self.redefine, limit=limit)
        places.caller.write(REDEFINE, places.unit, size, op_id=op_id, repeat=again)
        if places.terms.limit is not None:
            self._places = places.limited(size)


class LockAll:
    """Several locks at once, for whoever needs all of them.

    They are always taken in the order of their names, so that no two holders wait for each other.

    Made by `Holdfast.lock_all`.
    """

    def __init__(self, locks: Iterable[Lock]) -> None:
        self._locks = sorted(locks, key=lambda lock: lock.name)

    def __repr__(self) -> str:
        return f"LockAll({[lock.name for lock in self._locks]!r})"

    @contextmanager
    def hold(self, *, timeout: Duration | None = None) -> Iterator[dict[str, Lease]]:
        """Hold all of them while the block runs, or none.

        Args:
            timeout: seconds to wait for all together; None for ever, 0 not at all.

        Yields:
            The leases by name.

        Raises:
            LockTimeout: one was not free in time; those taken before it are given back.
            ClientClosed: the client was closed before all were held.
            LeaseLost: one was lost, before the block or while it ran.
        """
        deadline = Deadline(to_timeout_s(timeout))
        leases: dict[str, Lease] = {}
        holds: list[_AsyncHold] = []
        try:
            with ExitStack() as stack:
                for lock in self._locks:
                    left_s = None if timeout is None else deadline.left_s()
                    holds.append(_AsyncHold(lock._places, left_s))  # noqa: SLF001 (a sibling)
                    try:
                        leases[lock.name] = stack.enter_context(holds[-1])
                    except BaseException:  # perhaps cancelled, as a closed client lost a lease
                        lock.check_client()
                        raise
                for lease in leases.values():
                    if lease.lost:  # while the others were waited for
                        lease.release()
                yield leases
        finally:
            for hold in holds:
                hold.abandon()
