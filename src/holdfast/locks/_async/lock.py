"""Locks and semaphores as their users see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import TracebackType
from typing import Final

from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._async.cancellation import run_shielded
from ...core.concurrency._async.holding_context import ContextExit, HoldingContext
from ...core.script import Script
from .. import keys
from ..options import checked_limit
from ..states import LockState, SemaphoreState, lock_state, semaphore_state
from .acquisition import take
from .lease import AsyncLease
from .permits import AsyncPlaces

INSPECT: Final = Script.load("holdfast.locks", "inspect")
REDEFINE: Final = Script.load("holdfast.locks", "redefine")

_USED: Final = "it was for another block; call `hold` for each"


class _AsyncHeld:
    """What locks and semaphores have in common."""

    def __init__(self, places: AsyncPlaces) -> None:
        self._places = places

    @property
    def name(self) -> str:
        """As it was given."""
        return self._places.unit.name

    def check_client(self) -> None:
        """Raise `ClientClosed` if its client was closed."""
        self._places.caller.lifetime.check(f"holding {self._places.unit}")

    def hold(self, *, timeout: Duration | None = None) -> AbstractAsyncContextManager[AsyncLease]:
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

    async def acquire(self, *, timeout: Duration | None = None) -> AsyncLease:
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
        return await take(self._places, to_timeout_s(timeout))

    async def try_acquire(self) -> AsyncLease | None:
        """A place if one is free and nobody waits for it, else None.

        Raises:
            ServerUnavailable: the server cannot be asked. If it went away in the middle of the
                call, a place may stay taken until a lease has passed.
        """
        return await take(self._places, 0, waits=False)


async def _end_one(
    held: list[AsyncLease],
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    """Release the lease of a block."""
    for lease in held:
        await lease.__aexit__(kind, error, traceback)


class _AsyncHold(HoldingContext):
    """A place for one block."""

    __slots__ = ("_places", "_timeout_s")

    def __init__(self, places: AsyncPlaces, timeout_s: float | None) -> None:
        self.held: list[AsyncLease] = []
        self._places: AsyncPlaces | None = places
        self._timeout_s = timeout_s

    async def __aenter__(self) -> AsyncLease:
        places, self._places = self._places, None
        if places is None:
            raise RuntimeError(_USED)
        lease = None
        try:
            lease = await take(places, self._timeout_s)
            self.held.append(lease)
            return await lease.__aenter__()
        except BaseException:
            if lease is not None:
                await run_shielded(lease.give_up)
            raise

    __aexit__ = ContextExit(_end_one)


async def _end_all(
    held: list[AsyncLease],
    kind: type[BaseException] | None,
    error: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    """Release the leases of a block, the last one first; raise the last error."""
    raised = error
    for lease in reversed(held):
        try:
            await lease.__aexit__(kind, raised, traceback)
        except BaseException as problem:  # noqa: BLE001 (raised below)
            kind, raised, traceback = type(problem), problem, problem.__traceback__
    try:
        if raised is not None and raised is not error:
            raise raised
    finally:
        del error, raised, traceback  # they keep this frame, which keeps them


class _AsyncHoldAll(HoldingContext):
    """A place of each of several locks for one block."""

    __slots__ = ("_locks", "_timeout_s")

    def __init__(self, locks: Sequence[AsyncLock], timeout_s: float | None) -> None:
        self.held: list[AsyncLease] = []
        self._locks: Sequence[AsyncLock] | None = locks
        self._timeout_s = timeout_s

    async def __aenter__(self) -> dict[str, AsyncLease]:
        locks, self._locks = self._locks, None
        if locks is None:
            raise RuntimeError(_USED)
        try:
            return await self._taken(locks)
        except BaseException as error:
            await _end_all(self.held, type(error), error, error.__traceback__)
            raise

    __aexit__ = ContextExit(_end_all)

    async def _taken(self, locks: Sequence[AsyncLock]) -> dict[str, AsyncLease]:
        deadline = Deadline(self._timeout_s)
        leases: dict[str, AsyncLease] = {}
        for lock in locks:
            left_s = None if self._timeout_s is None else deadline.left_s()
            try:
                self.held.append(await take(lock._places, left_s))  # noqa: SLF001 (a sibling)
                leases[lock.name] = await self.held[-1].__aenter__()
            except BaseException:  # perhaps cancelled, as a closed client lost a lease
                lock.check_client()
                raise
        for lease in leases.values():
            if lease.lost:  # while the others were waited for
                await lease.release()
        return leases


class AsyncLock(_AsyncHeld):
    """A lock by name: at most one holds it at a time.

    Made by `AsyncHoldfast.lock`; costs nothing, and serves all tasks and threads.
    """

    def __repr__(self) -> str:
        return f"AsyncLock({self.name!r})"

    async def inspect(self) -> LockState:
        """Who holds it now, and who waits."""
        places = self._places
        reply = await places.caller.call(INSPECT, places.unit, INSPECT.keys(places.unit), [])
        return lock_state(reply, keys.state(places.unit))


class AsyncSemaphore(_AsyncHeld):
    """A semaphore by name: at most so many hold it at a time.

    Made by `AsyncHoldfast.semaphore`; costs nothing, and serves all tasks and threads.
    """

    def __repr__(self) -> str:
        return f"AsyncSemaphore({self.name!r})"

    async def inspect(self) -> SemaphoreState:
        """Who holds it now, and who waits."""
        places = self._places
        reply = await places.caller.call(INSPECT, places.unit, INSPECT.keys(places.unit), [])
        return semaphore_state(reply, keys.state(places.unit))

    async def redefine(self, *, limit: int, op_id: str | None = None) -> None:
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
        await places.caller.write(REDEFINE, places.unit, size, op_id=op_id, repeat=again)
        if places.terms.limit is not None:
            self._places = places.limited(size)


class AsyncLockAll:
    """Several locks at once, for whoever needs all of them.

    They are always taken in the order of their names, so that no two holders wait for each other.

    Made by `AsyncHoldfast.lock_all`.
    """

    def __init__(self, locks: Iterable[AsyncLock]) -> None:
        self._locks = sorted(locks, key=lambda lock: lock.name)

    def __repr__(self) -> str:
        return f"AsyncLockAll({[lock.name for lock in self._locks]!r})"

    def hold(
        self, *, timeout: Duration | None = None
    ) -> AbstractAsyncContextManager[dict[str, AsyncLease]]:
        """Hold all of them while the block runs, or none. The context gives the leases by name.

        Args:
            timeout: seconds to wait for all together; None for ever, 0 not at all.

        Raises:
            LockTimeout: one was not free in time; those taken before it are given back.
            ClientClosed: the client was closed before all were held.
            LeaseLost: one was lost, before the block or while it ran.
        """
        return _AsyncHoldAll(self._locks, to_timeout_s(timeout))
