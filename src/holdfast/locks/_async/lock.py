"""The locks and semaphores that users see."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final

from ...core.clock import Duration, to_timeout_s
from ...core.script import Script
from .. import keys
from ..options import checked_limit
from ..states import LockState, SemaphoreState, lock_state, semaphore_state
from .acquisition import acquire
from .hold import AsyncHold, AsyncHoldAll
from .lease import AsyncLease
from .permits import AsyncPermits

INSPECT: Final = Script.load("holdfast.locks", "inspect")
REDEFINE: Final = Script.load("holdfast.locks", "redefine")


class _AsyncHoldable:
    """What locks and semaphores have in common."""

    def __init__(self, permits: AsyncPermits) -> None:
        self._permits = permits

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """Return the name, as it was given."""
        return self._permits.unit.name

    def hold(self, *, timeout: Duration | None = None) -> AbstractAsyncContextManager[AsyncLease]:
        """Hold a permit while the block runs.

        In asyncio the loss of the lease cancels the body. A thread cannot be cancelled: in the
        blocking half the body checks `lease.lost` itself.

        Args:
            timeout: seconds to wait for a permit; None: without limit, 0: not at all.

        Raises:
            LockTimeout: No permit was free in time.
            LeaseLost: Raised at the end of the block if the lease was lost while the block ran. An
                error of the body takes precedence.
        """
        return AsyncHold(self._permits, to_timeout_s(timeout))

    async def acquire(self, *, timeout: Duration | None = None) -> AsyncLease:
        """Wait for a permit: first come, first served.

        A cancelled or failed call leaves neither a permit nor a waiter behind, as long as the
        server can be reached.

        Args:
            timeout: seconds to wait; None: without limit, 0: not at all.

        Returns:
            The lease. Release it, or use it as a context.

        Raises:
            LockTimeout: No permit was free in time.
            ServerUnavailable: The server cannot be reached. If the connection failed during the
                call, a permit may stay taken until its lease ends.
        """
        return await acquire(self._permits, to_timeout_s(timeout))

    async def try_acquire(self) -> AsyncLease | None:
        """Take a permit if one is free and no other client waits for it; otherwise return None.

        Raises:
            ServerUnavailable: The server cannot be reached. If the connection failed during the
                call, a permit may stay taken until its lease ends.
        """
        return await acquire(self._permits, 0, waits=False)

    async def _inspected(self) -> Any:
        permits = self._permits
        return await permits.caller.call(INSPECT, permits.unit, INSPECT.keys(permits.unit), [])


class AsyncLock(_AsyncHoldable):
    """A lock by name: at most one client holds it at a time.

    Creating one does no I/O. All tasks and threads can share it.

    Made by `AsyncHoldfast.lock`.
    """

    async def inspect(self) -> LockState:
        """Return the holder and the waiters."""
        return lock_state(await self._inspected(), keys.state(self._permits.unit))


class AsyncSemaphore(_AsyncHoldable):
    """A semaphore by name: it has a number of permits, its limit.

    Creating one does no I/O. All tasks and threads can share it.

    Made by `AsyncHoldfast.semaphore`.
    """

    async def inspect(self) -> SemaphoreState:
        """Return the holders and the waiters."""
        return semaphore_state(await self._inspected(), keys.state(self._permits.unit))

    async def redefine(self, *, limit: int, op_id: str | None = None) -> None:
        """Change how many permits there are, for all clients.

        With a higher limit, waiters get the new permits at once. With a lower limit, no holder
        loses its permit; the next permit is granted when enough were released.

        This object uses the new limit from now on. Another object that was made with the old limit
        gets `DefinitionConflict` at its next call, even if it already waits.

        Args:
            limit: the new number of permits.
            op_id: see `OutcomeUnknown`.
        """
        permits, size = self._permits, checked_limit(limit)
        repeat = partial(self.redefine, limit=limit)
        await permits.caller.write(REDEFINE, permits.unit, size, op_id=op_id, repeat=repeat)
        if permits.options.limit is not None:
            self._permits = permits.with_limit(size)


class AsyncLockAll:
    """Several locks that one holder needs together.

    They are always taken in the order of their names, so two holders never wait for each other.

    Made by `AsyncHoldfast.lock_all`.
    """

    def __init__(self, locks: Iterable[AsyncLock]) -> None:
        self._locks = sorted(locks, key=lambda lock: lock.name)

    def __repr__(self) -> str:
        return f"AsyncLockAll({[lock.name for lock in self._locks]!r})"

    def hold(
        self, *, timeout: Duration | None = None
    ) -> AbstractAsyncContextManager[dict[str, AsyncLease]]:
        """Hold all of them while the block runs, or none. The context returns the leases by name.

        Args:
            timeout: seconds to wait for all of them; None: without limit, 0: not at all.

        Raises:
            LockTimeout: One was not free in time; those taken before it are released.
            ClientClosed: The client was closed before all were held.
            LeaseLost: One was lost, before the block or while it ran.
        """
        permits = [lock._permits for lock in self._locks]  # noqa: SLF001 (of the same file)
        return AsyncHoldAll(permits, to_timeout_s(timeout))
