"""Provide the locks and semaphores that users call."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Never

from ...core.clock import Duration, to_timeout_s
from ...core.familiar_names import no_attribute
from ...core.script import Script
from .. import keys
from ..options import FAMILIAR_NAMES, checked_limit
from ..states import LockState, SemaphoreState, lock_state, semaphore_state
from .acquisition import acquire
from .hold import AsyncHold, AsyncHoldAll
from .lease import AsyncLease
from .permits import AsyncPermits

INSPECT: Final = Script.load("holdfast.locks", "inspect")
REDEFINE: Final = Script.load("holdfast.locks", "redefine")


class _AsyncHoldable:
    """The methods that locks and semaphores have in common."""

    def __init__(self, permits: AsyncPermits) -> None:
        self._permits = permits

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """Return the name."""
        return self._permits.unit.name

    if not TYPE_CHECKING:  # Type checkers must report these methods as missing.

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, FAMILIAR_NAMES)

        def __aenter__(self) -> Never:
            raise _no_context(self)

        def __aexit__(self, *error: object) -> Never:
            raise _no_context(self)

    def hold(self, *, timeout: Duration | None = None) -> AbstractAsyncContextManager[AsyncLease]:
        """Return a context manager that holds a permit while its block runs.

        In asyncio, the loss of the lease cancels the block. In blocking code the block must check
        `lease.lost` itself, because a thread cannot be cancelled.

        Args:
            timeout: seconds to wait for a permit; None: no limit; 0: do not wait.

        Raises:
            LockTimeout: No permit was free in time.
            LeaseLost: The lease was lost while the block ran. It is raised at the end of the block,
                unless the block raises another error.
        """
        return AsyncHold(self._permits, to_timeout_s(timeout))

    async def acquire(self, *, timeout: Duration | None = None) -> AsyncLease:
        """Wait for a permit and return its lease. Waiters get permits in the order of their calls.

        If the call fails or is cancelled, it releases the permit and leaves the wait queue, if the
        server can be reached.

        Args:
            timeout: seconds to wait; None: no limit; 0: do not wait.

        Returns:
            The lease. Release it, or use it as a context manager.

        Raises:
            LockTimeout: No permit was free in time.
            ServerUnavailable: The server cannot be reached. If the connection failed during the
                call, a permit may be taken until its lease ends.
        """
        return await acquire(self._permits, to_timeout_s(timeout))

    async def try_acquire(self) -> AsyncLease | None:
        """Take a permit if one is free and no other client waits for it; otherwise return None.

        Raises:
            ServerUnavailable: The server cannot be reached. If the connection failed during the
                call, a permit may be taken until its lease ends.
        """
        return await acquire(self._permits, 0, waits=False)

    async def _inspected(self) -> Any:
        permits = self._permits
        return await permits.caller.call(INSPECT, permits.unit, INSPECT.keys(permits.unit), [])


class AsyncLock(_AsyncHoldable):
    """A lock with a name. At most one holder has it at a time.

    Creating this object does no I/O. All tasks and threads can share it.

    Made by `AsyncHoldfast.lock`.
    """

    async def inspect(self) -> LockState:
        """Return the holder and the waiters of the lock."""
        return lock_state(await self._inspected(), keys.state(self._permits.unit))


class AsyncSemaphore(_AsyncHoldable):
    """A semaphore with a name. It has a number of permits, its limit.

    Creating this object does no I/O. All tasks and threads can share it.

    Made by `AsyncHoldfast.semaphore`.
    """

    async def inspect(self) -> SemaphoreState:
        """Return the holders and the waiters of the semaphore."""
        return semaphore_state(await self._inspected(), keys.state(self._permits.unit))

    async def redefine(self, *, limit: int, op_id: str | None = None) -> None:
        """Change the number of permits for all clients.

        With a higher limit, waiters get the new permits at once. With a lower limit, no holder
        loses its permit; the next permit is granted when enough were released.

        This object uses the new limit from now on. Other objects that were given another limit
        follow their `on_conflict`: by default they use the new one.

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
    """Several locks that are held together.

    They are always taken in the order of their names, so that two holders never wait for each
    other.

    Made by `AsyncHoldfast.lock_all`.
    """

    def __init__(self, locks: Iterable[AsyncLock]) -> None:
        self._locks = sorted(locks, key=lambda lock: lock.name)

    def __repr__(self) -> str:
        return f"AsyncLockAll({[lock.name for lock in self._locks]!r})"

    if not TYPE_CHECKING:  # Type checkers must report these methods as missing.

        def __iter__(self) -> Never:
            raise TypeError("lock_all holds its locks together: hold() returns the leases by name")

        def __aenter__(self) -> Never:
            raise _no_context(self)

        def __aexit__(self, *error: object) -> Never:
            raise _no_context(self)

    def hold(
        self, *, timeout: Duration | None = None
    ) -> AbstractAsyncContextManager[dict[str, AsyncLease]]:
        """Return a context manager that holds all locks while its block runs.

        Its target is a dict: name of the lock → lease.

        Args:
            timeout: seconds to wait for all locks together; None: no limit; 0: do not wait.

        Raises:
            LockTimeout: A lock was not free in time. The locks taken before are released.
            ClientClosed: The client was closed before all locks were held.
            LeaseLost: A lock was lost, before the block or while it ran.
        """
        permits = [lock._permits for lock in self._locks]  # noqa: SLF001 (of the same file)
        return AsyncHoldAll(permits, to_timeout_s(timeout))


def _no_context(lock: object) -> TypeError:
    """Return the error for a `with` statement that lacks `hold`."""
    kind = type(lock).__name__
    word = "async with" if kind[:5] == "Async" else "with"
    return TypeError(f"{kind} is not a context: write `{word} lock.hold(timeout=…):`")
