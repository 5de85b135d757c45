"""Hold the connections and shared objects of a client, and close them."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ...core._async.caller import AsyncCaller
from ...core._async.catalog import AsyncCatalog
from ...core._async.session import AsyncCallSessions, abort_all
from ...core.codec import Codec
from ...core.concurrency._async.cancellation import run_to_completion
from ...core.concurrency._async.user_calls import in_thread
from ...core.durability import Durability
from ...core.guarded_telemetry import guarded
from ...core.lifetime import Lifetime
from ...core.maxmemory import MaxmemoryCheck
from ...core.names import Namespace
from ...core.near.registry import NearCaches
from ...core.near.tracker import Tracker
from ...core.notifier import Notifier
from ...core.renewer import Renewer
from ...core.telemetry import Telemetry
from ...core.transport.settings import Settings
from ...errors import HoldfastError
from ...errors.one_line_logger import logger_of
from ..shared import shared

if TYPE_CHECKING:
    from ...cache._async.cache_client import AsyncCacheClient
    from ...counters._async.buffer import AsyncCounterBuffer
    from ...limits._async.reservations import AsyncReservations
    from ...locks._async.listing import AsyncLockListing
    from ...locks.waiters import WaiterRegistry
    from ...messages._async.messaging import AsyncMessaging
    from ...queues._async.future_schedules import AsyncFutureSchedules
    from ...queues._async.producer import AsyncProducer
    from ...queues._async.schedule_store import AsyncScheduleStore
    from ...queues._async.sleepers import AsyncSleepers
    from ...queues.groups._async.group_delivery import AsyncGroupDelivery

logger: Final = logger_of("holdfast")


class AsyncResources:
    """Hold the connections of one client, and the objects that its locks, queues and so on share.

    Args:
        settings: how to connect.
        namespace: namespace of the client.
        codec: encodes rows of row caches by default.
        durability: the guarantee that each write waits for; None: only the server's reply.
        telemetry: receives traces and metrics; None: nothing is recorded.
    """

    def __init__(
        self,
        settings: Settings,
        namespace: str,
        codec: Codec,
        durability: Durability | None,
        telemetry: Telemetry | None,
    ) -> None:
        if not isinstance(durability, Durability | None):
            kind = type(durability).__name__
            raise TypeError(f"durability must be Replicated(…), Fsynced(…) or None, got {kind}")
        self.settings = settings = replace(
            settings, durability=durability, telemetry=guarded(telemetry)
        )
        self.namespace = Namespace.of(namespace)
        self.codec = codec
        self.lifetime = Lifetime()
        self.caller = AsyncCaller(settings, self.lifetime, self.namespace)
        self.catalog = AsyncCatalog(self.caller, self.namespace)
        self.notifier = Notifier(settings, lifetime=self.lifetime)
        self.maxmemory_check = MaxmemoryCheck()
        self.renewer = Renewer(settings, self.namespace, self.maxmemory_check)
        self.tracker = Tracker(settings, self.namespace, lifetime=self.lifetime)
        self.near_caches = NearCaches(self.tracker)
        self.buffers: set[AsyncCounterBuffer] = set()
        self.closed_last = ExitStack()
        # All objects that the client makes refer to the caller. So when the caller is collected as
        # garbage, none of these objects is in use, and the connections can be closed.
        parts = (settings, self.caller.sessions, self.renewer, self.notifier, self.tracker)
        self._abandoned = weakref.finalize(self.caller, _abandon, *parts)
        self._abandoned.atexit = False  # the operating system closes connections of the process

    @shared
    def waiters(self) -> WaiterRegistry:
        """Return the registry of waiters of locks and semaphores."""
        from holdfast.locks.waiters import WaiterRegistry

        return WaiterRegistry(self.notifier)

    @shared
    def lock_listing(self) -> AsyncLockListing:
        """Return the object that lists locks and semaphores."""
        from holdfast.locks._async.listing import AsyncLockListing

        return AsyncLockListing(self.caller, self.catalog, self.namespace)

    @shared
    def producer(self) -> AsyncProducer:
        """Return the object that enqueues tasks."""
        from holdfast.queues._async.producer import AsyncProducer

        return AsyncProducer(self.caller, self.notifier, self.catalog, self.namespace)

    @shared
    def schedule_store(self) -> AsyncScheduleStore:
        """Return the object that reads and writes schedules."""
        from holdfast.queues._async.schedule_store import AsyncScheduleStore

        return AsyncScheduleStore(self.caller, self.catalog, self.producer, self.namespace)

    @shared
    def groups(self) -> AsyncGroupDelivery:
        """Return the object that stores groups and counts their members."""
        from holdfast.queues.groups._async.group_delivery import AsyncGroupDelivery
        from holdfast.queues.groups._async.group_store import AsyncGroupStore

        store = AsyncGroupStore(self.caller, self.producer, self.namespace)
        return AsyncGroupDelivery(store, self.caller, self.catalog, self.namespace)

    def future_schedules(self, queues: Sequence[str]) -> AsyncFutureSchedules:
        """Return an object that enqueues the tasks of schedules early, for tests."""
        from holdfast.queues._async.future_schedules import AsyncFutureSchedules

        return AsyncFutureSchedules(self.schedule_store, self.namespace, queues)

    def sleepers(self) -> AsyncSleepers:
        """Return an object that wakes sleeping tasks before their time, for tests."""
        from holdfast.queues._async.sleepers import AsyncSleepers

        return AsyncSleepers(self.caller, self.namespace)

    @shared
    def cache(self) -> AsyncCacheClient:
        """Return the object that cached functions share."""
        from holdfast.cache._async.cache_client import AsyncCacheClient

        parts = (self.caller, self.notifier, self.catalog, self.namespace)
        return AsyncCacheClient(*parts, self.near_caches, self.renewer)

    @shared
    def reservations(self) -> AsyncReservations:
        """Return the object that sends the reservations of rate limiters."""
        from holdfast.limits._async.reservations import AsyncReservations

        return AsyncReservations(self.caller)

    @shared
    def messaging(self) -> AsyncMessaging:
        """Return the object that mailboxes, chats and inboxes share."""
        from holdfast.messages._async.messaging import AsyncMessaging

        return AsyncMessaging(self.caller, self.notifier, self.catalog, self.namespace)

    async def close(self) -> None:
        """Close all connections and shared objects. Idempotent; see `AsyncHoldfast.close`."""
        # Run to completion, because closing loses leases, which may cancel the calling task.
        await run_to_completion(self._close)

    async def _close(self) -> None:
        await self._close_buffers()
        if "cache" in vars(self):  # this client has used cached functions
            await self.cache.report_all()
        self.lifetime.end()
        await self._close_buffers()  # another thread may have made a buffer meanwhile
        await in_thread(self.renewer.close)
        if "waiters" in vars(self):  # this client has used locks
            self.waiters.close()
        await in_thread(self.notifier.close)
        await in_thread(self.tracker.close)
        await self.caller.close()
        await in_thread(self.closed_last.close)
        self._abandoned.detach()

    async def _close_buffers(self) -> None:
        """Close all buffers, which add their counts. Log counts that are lost."""
        for buffer in list(self.buffers):  # closing a buffer removes it
            try:
                await buffer.close()
            except HoldfastError as error:
                logger.warning("buffered counts are lost: %s", error)


def _abandon(
    settings: Settings,
    sessions: AsyncCallSessions,
    renewer: Renewer,
    notifier: Notifier,
    tracker: Tracker,
) -> None:
    """Close the connections of a client that was never closed. The garbage collector calls this.

    Neither take a lock nor wait, because the garbage collector may interrupt any line of any
    thread.
    """
    parts = [abort_all(sessions), renewer.abandon(), notifier.abandon(), tracker.abandon()]
    if any(parts):
        where = ", ".join(map(settings.where, settings.addresses))
        warnings.warn(
            f"a client of {where} was never closed: call close(), or use it in a `with` block",
            ResourceWarning,
            stacklevel=2,
        )
