"""Provide the reader-writer lock that users call."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Final, Never

from ...core.clock import Duration, to_timeout_s
from ...core.familiar_names import no_attribute
from ...core.script import Script
from .. import keys
from ..states import RwLockState, rw_lock_state
from .acquisition import acquire
from .hold import AsyncHold
from .lease import AsyncLease
from .permits import AsyncPermits

RW_INSPECT: Final = Script.load("holdfast.locks", "rw_inspect")

_NAMES: Final = {
    "hold": "read(timeout=…) or write(timeout=…) holds it for a block",
    "acquire": "acquire_read() or acquire_write() returns a lease",
    "try_acquire": "try_read() or try_write() does not wait",
    "release": "only its holder releases it: lease = lock.acquire_write(), then lease.release()",
    "upgrade": "release the read lease first: two readers that both wait to write never end",
}
"""Methods of other locks, and what to use instead."""


class AsyncRwLock:
    """A lock with a name that many readers, or one writer, hold at a time.

    It is phase-fair: readers and writers take turns. A reader waits for at most one writer. All
    readers that wait when a writer has finished enter together, and the next writer follows them.
    So neither a stream of readers nor a stream of writers keeps the others out.

    A reader cannot become a writer: it must release its lease first. Creating this object does no
    I/O. All tasks and threads can share it.

    Source: B. Brandenburg and J. Anderson, "Spin-based reader-writer synchronization for
    multiprocessor real-time systems" (2010).

    Made by `AsyncHoldfast.rw_lock`.
    """

    def __init__(self, readers: AsyncPermits, writers: AsyncPermits) -> None:
        self._readers = readers
        self._writers = writers

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def name(self) -> str:
        """Return the name."""
        return self._writers.unit.name

    if not TYPE_CHECKING:  # Type checkers must report these methods as missing.

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, _NAMES)

    def read(self, *, timeout: Duration | None = None) -> AbstractAsyncContextManager[AsyncLease]:
        """Return a context manager that holds the lock as a reader while its block runs.

        In asyncio, the loss of the lease cancels the block. In blocking code the block must check
        `lease.lost` itself, because a thread cannot be cancelled.

        Args:
            timeout: seconds to wait; None: no limit; 0: do not wait.

        Raises:
            LockTimeout: A writer held the lock, or had its turn first, until the timeout.
            LeaseLost: The lease was lost while the block ran. It is raised at the end of the block,
                unless the block raises another error.
        """
        return AsyncHold(self._readers, to_timeout_s(timeout))

    def write(self, *, timeout: Duration | None = None) -> AbstractAsyncContextManager[AsyncLease]:
        """Return a context manager that holds the lock as its writer while its block runs.

        The fence of the lease is higher than that of every earlier writer. For the rest see `read`.
        """
        return AsyncHold(self._writers, to_timeout_s(timeout))

    async def acquire_read(self, *, timeout: Duration | None = None) -> AsyncLease:
        """Wait until a reader may enter, and return its lease.

        If the call fails or is cancelled, it releases the lease and leaves the wait queue, if the
        server can be reached.

        Args:
            timeout: seconds to wait; None: no limit; 0: do not wait.

        Raises:
            LockTimeout: see `read`.
            ServerUnavailable: The server cannot be reached. If the connection failed during the
                call, the lock may be held until the lease ends.
        """
        return await acquire(self._readers, to_timeout_s(timeout))

    async def acquire_write(self, *, timeout: Duration | None = None) -> AsyncLease:
        """Wait until a writer may enter, and return its lease. See `acquire_read`."""
        return await acquire(self._writers, to_timeout_s(timeout))

    async def try_read(self) -> AsyncLease | None:
        """Enter as a reader if no writer holds the lock or waits for it; otherwise return None.

        Raises:
            ServerUnavailable: see `acquire_read`.
        """
        return await acquire(self._readers, 0, waits=False)

    async def try_write(self) -> AsyncLease | None:
        """Enter as a writer if no other client holds the lock or waits for it.

        Otherwise return None.

        Raises:
            ServerUnavailable: see `acquire_read`.
        """
        return await acquire(self._writers, 0, waits=False)

    async def inspect(self) -> RwLockState:
        """Return the holders and the waiters of the lock."""
        unit = self._writers.unit
        reply = await self._writers.caller.call(RW_INSPECT, unit, RW_INSPECT.keys(unit), [])
        return rw_lock_state(reply, keys.state(unit))
