# Generated from _async/resources.py by tools/unasync.py: edit that, then run `make sync`.
"""Hold the connections and shared objects of a client, and close them."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ...core._sync.caller import Caller
from ...core._sync.catalog import Catalog
from ...core._sync.session import CallSessions, abort_all
from ...core.codec import Codec
from ...core.concurrency._sync.cancellation import run_to_completion
from ...core.concurrency._sync.user_calls import in_thread
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
    from ...cache._sync.cache_client import CacheClient
    from ...counters._sync.buffer import CounterBuffer
    from ...limits._sync.reservations import Reservations
    from ...locks._sync.listing import LockListing
    from ...locks.waiters import WaiterRegistry
    from ...messages._sync.messaging import Messaging
    from ...queues._sync.future_schedules import FutureSchedules
    from ...queues._sync.producer import Producer
    from ...queues._sync.schedule_store import ScheduleStore
    from ...queues._sync.sleepers import Sleepers
    from ...queues.groups._sync.group_delivery import GroupDelivery

logger: Final = logger_of("holdfast")


class Resources:
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
        self.caller = Caller(settings, self.lifetime, self.namespace)
        self.catalog = Catalog(self.caller, self.namespace)
        self.notifier = Notifier(settings, lifetime=self.lifetime)
        self.maxmemory_check = MaxmemoryCheck()
        self.renewer = Renewer(settings, self.namespace, self.maxmemory_check)
        self.tracker = Tracker(settings, self.namespace, lifetime=self.lifetime)
        self.near_caches = NearCaches(self.tracker)
        self.buffers: set[CounterBuffer] = set()
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
    def lock_listing(self) -> LockListing:
        """Return the object that lists locks and semaphores."""
        from holdfast.locks._sync.listing import LockListing

        return LockListing(self.caller, self.catalog, self.namespace)

    @shared
    def producer(self) -> Producer:
        """Return the object that enqueues tasks."""
        from holdfast.queues._sync.producer import Producer

        return Producer(self.caller, self.notifier, self.catalog, self.namespace)

    @shared
    def schedule_store(self) -> ScheduleStore:
        """Return the object that reads and writes schedules."""
        from holdfast.queues._sync.schedule_store import ScheduleStore

        return ScheduleStore(self.caller, self.catalog, self.producer, self.namespace)

    @shared
    def groups(self) -> GroupDelivery:
        """Return the object that stores groups and counts their members."""
        from holdfast.queues.groups._sync.group_delivery import GroupDelivery
        from holdfast.queues.groups._sync.group_store import GroupStore

        store = GroupStore(self.caller, self.producer, self.namespace)
        return GroupDelivery(store, self.caller, self.catalog, self.namespace)

    def future_schedules(self, queues: Sequence[str]) -> FutureSchedules:
        """Return an object that enqueues the tasks of schedules early, for tests."""
        from holdfast.queues._sync.future_schedules import FutureSchedules

        return FutureSchedules(self.schedule_store, self.namespace, queues)

    def sleepers(self) -> Sleepers:
        """Return an object that wakes sleeping tasks before their time, for tests."""
        from holdfast.queues._sync.sleepers import Sleepers

        return Sleepers(self.caller, self.namespace)

    @shared
    def cache(self) -> CacheClient:
        """Return the object that cached functions share."""
        from holdfast.cache._sync.cache_client import CacheClient

        parts = (self.caller, self.notifier, self.catalog, self.namespace)
        return CacheClient(*parts, self.near_caches, self.renewer)

    @shared
    def reservations(self) -> Reservations:
        """Return the object that sends the reservations of rate limiters."""
        from holdfast.limits._sync.reservations import Reservations

        return Reservations(self.caller)

    @shared
    def messaging(self) -> Messaging:
        """Return the object that mailboxes, chats and inboxes share."""
        from holdfast.messages._sync.messaging import Messaging

        return Messaging(self.caller, self.notifier, self.catalog, self.namespace)

    def close(self) -> None:
        """Close all connections and shared objects. Idempotent; see `Holdfast.close`."""
        # Run to completion, because closing loses leases, which may cancel the calling task.
        run_to_completion(self._close)

    def _close(self) -> None:
        self._close_buffers()
        if "cache" in vars(self):  # this client has used cached functions
            self.cache.report_all()
        self.lifetime.end()
        self._close_buffers()  # another thread may have made a buffer meanwhile
        in_thread(self.renewer.close)
        if "waiters" in vars(self):  # this client has used locks
            self.waiters.close()
        in_thread(self.notifier.close)
        in_thread(self.tracker.close)
        self.caller.close()
        in_thread(self.closed_last.close)
        self._abandoned.detach()

    def _close_buffers(self) -> None:
        """Close all buffers, which add their counts. Log counts that are lost."""
        for buffer in list(self.buffers):  # closing a buffer removes it
            try:
                buffer.close()
            except HoldfastError as error:
                logger.warning("buffered counts are lost: %s", error)


def _abandon(
    settings: Settings,
    sessions: CallSessions,
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
