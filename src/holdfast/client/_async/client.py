"""Provide the client: it creates locks, queues, mailboxes and all other objects of the library.

Each method imports what it creates, so that a program loads only the modules that it uses. These
imports are absolute, because repeating one takes a third of the time of a relative import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Never, ParamSpec, Self, TypeVar, Unpack, overload

from ...core._async.catalog import LISTED
from ...core._async.catalog import MOST as CATALOGUED
from ...core.clock import Duration
from ...core.codec import JSON, Codec
from ...core.definitions import OnConflict, checked_on_conflict
from ...core.durability import Durability
from ...core.familiar_names import check_options
from ...core.names import Namespace
from ...core.platform import check_posix
from ...core.telemetry import Telemetry
from ...core.transport.settings import Client, Settings
from .resources import AsyncResources

if TYPE_CHECKING:
    from ...cache._async.cached_function import AsyncCachedFunction
    from ...cache.function_counts import CachedFunctionStatus
    from ...cache.options import CachedOptions
    from ...completions._async.completions import AsyncCompletions
    from ...completions._async.recent import AsyncRecent
    from ...core.concurrency._async.user_calls import UserCall
    from ...core.near.options import Near
    from ...counters._async.buffer import AsyncCounterBuffer
    from ...counters._async.counter import AsyncCounter
    from ...files._async.feed import AsyncFileFeed
    from ...files.options import Mode
    from ...idempotency._async.store import AsyncIdempotency
    from ...limits._async.rate_limiter import AsyncRateLimiter
    from ...limits.limit import Limit
    from ...locks._async.fenced import AsyncFenced
    from ...locks._async.lock import AsyncLock, AsyncLockAll, AsyncSemaphore
    from ...locks._async.permits import AsyncPermits
    from ...locks._async.rw_lock import AsyncRwLock
    from ...locks._async.singleton import AsyncSingleton
    from ...locks.options import LockOptions
    from ...locks.permit_scripts import PermitScripts
    from ...locks.states import LockState, RwLockState, SemaphoreState
    from ...messages._async.chat import AsyncChat
    from ...messages._async.inbox import AsyncInbox
    from ...messages._async.mailbox import AsyncMailbox
    from ...messages.options import History, Keep, Overflow
    from ...outbox._async.relay import AsyncOutboxRelay
    from ...outbox.database import AsyncEngine
    from ...outbox.outbox import Outbox
    from ...queues._async.handle import AsyncTaskHandle
    from ...queues._async.queue import AsyncQueue
    from ...queues._async.schedule_handle import AsyncScheduleHandle
    from ...queues.call import Call
    from ...queues.groups._async.group_handle import AsyncGroupHandle
    from ...queues.groups.members import Chain, Group, Member
    from ...queues.groups.status import GroupStatus
    from ...queues.registry import TaskRegistry
    from ...queues.schedule.definition import Missed, Overlap
    from ...queues.schedule.status import ScheduleStatus
    from ...queues.schedule.times import Timing
    from ...queues.worker.worker import AsyncWorker
    from ...queues.worker_status import WorkerStatus
    from ...rows._async.row_cache import AsyncRowCache
    from ...rows.options import OnShardsConflict
    from ...rows.source import RowSource
    from ...tallies._async.tally import AsyncTally
    from ..audit_report import AuditReport
    from ..finding import Finding
    from ..server_facts import ServerFacts, Topology

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_NAMESPACE: Final = "holdfast"
DAY_S: Final = 86_400.0


class AsyncHoldfast:
    """Create locks, queues, mailboxes and other objects that share one Valkey or Redis.

    The client opens its own connections, with the settings of *redis*, and closes only these. All
    threads of an application, or all tasks of its event loop, may share a client. After a fork, the
    child process opens new connections.

    Args:
        redis: a redis-py client, blocking or asyncio: `Redis`, `RedisCluster` or a Sentinel's
            primary. Only its settings are used. Its `socket_timeout` limits the time of each call.
            It may use RESP 2 or 3 (`protocol`); Holdfast always uses RESP 2.
        namespace: prefix of all keys. It separates applications on the same server.
        codec: encodes rows of row caches by default. Tasks and messages are always JSON, so that
            programs in other languages can read them.
        durability: a guarantee that each write waits for after the server's reply: `Replicated(n)`
            or `Fsynced(n)`; None: no guarantee. It costs a round trip to the replicas or the disk.
            If the guarantee is not reached in time, the write raises `OutcomeUnknown`. Renewals of
            leases and hints do not wait. If the server does not support it, `Unsupported` is raised
            before anything is written: when a blocking client is created, when `async with` begins,
            or at the first write.
        telemetry: receives traces and metrics, such as `OpenTelemetry()`; None: nothing is
            recorded.
    """

    def __init__(
        self,
        redis: Client,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        codec: Codec = JSON,
        durability: Durability | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        settings = Settings.of(redis)
        self._resources = AsyncResources(settings, namespace, codec, durability, telemetry)

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        codec: Codec = JSON,
        durability: Durability | None = None,
        telemetry: Telemetry | None = None,
    ) -> Self:
        """Return a client for a URL.

        Args:
            url: URL with a scheme of `redis`, `rediss`, `unix`, `redis+sentinel` and
                `redis+cluster`, such as `redis://localhost:6379/0`,
                `redis+sentinel://host:26379/mymaster` or `redis+cluster://host:7000,host:7001`.
                Commas separate several hosts.
            namespace: see the class.
            codec: see the class.
            durability: see the class.
            telemetry: see the class.
        """
        self = cls.__new__(cls)
        settings = Settings.from_url(url)
        self._resources = AsyncResources(settings, namespace, codec, durability, telemetry)
        return self

    @classmethod
    def embedded(
        cls,
        folder: str | os.PathLike[str] | None = None,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        codec: Codec = JSON,
        durability: Durability | None = None,
        telemetry: Telemetry | None = None,
    ) -> Self:
        """Start an embedded Valkey server (extra `server`), and return a client for it.

        Args:
            folder: folder for the data. All processes that open the same folder share its server;
                the last one that closes it stops the server. None: a private server with temporary
                data.
            namespace: see the class.
            codec: see the class.
            durability: see the class. It is not needed: with a folder, each write is on disk before
                the server replies. There are no replicas.
            telemetry: see the class.

        Raises:
            ServerNotFound: no server binary was found; the message says what to install.
            ServerFailed: the server did not start.
        """
        check_posix("an embedded server", "connect to a server with from_url(…)")
        from holdfast.server import EmbeddedServer

        Namespace.of(namespace)  # raise the error for an invalid name before the server starts
        if durability is not None and durability.replicas:
            raise ValueError("an embedded server has no replicas: use durability=Fsynced()")
        server = EmbeddedServer.open(folder)
        options: Any = {"namespace": namespace, "codec": codec, "durability": durability}
        try:
            self = cls.from_url(server.url, telemetry=telemetry, **options)
        except BaseException:
            server.close()
            raise
        self._resources.closed_last.callback(server.close)
        return self

    @property
    def namespace(self) -> str:
        """Return the namespace that the user gave."""
        return self._resources.namespace.name

    @property
    def topology(self) -> Topology:
        """Return the arrangement of the servers: `standalone`, `sentinel` or `cluster`."""
        topology: Topology = self._resources.settings.topology  # type: ignore[assignment]
        return topology

    async def close(self) -> None:
        """Close all connections of this client. Idempotent.

        - Buffered counts are added first.
        - After that, every call raises `ClientClosed`, also calls of objects that the client
          created before. Calls that wait in other threads or tasks raise it at once.
        - Workers stop and give back their running tasks.
        - Leases are no longer renewed. Their holders see that the leases are lost, and the server
          frees the locks when the leases end.
        """
        await self._resources.close()

    async def __aenter__(self) -> Self:
        from ...core._async.durability_check import check_durability

        self._resources.lifetime.check("entering its context")
        await check_durability(self._resources.caller)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    # Locks and semaphores

    def lock(
        self,
        name: str,
        *,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
        **unknown: Never,
    ) -> AsyncLock:
        """Return the lock called *name*: at most one caller holds it at a time.

        Args:
            name: name of the lock.
            lease: seconds until the server frees the lock of a holder that crashed; at least 1.
            auto_renew: whether the client renews the lease until the holder releases the lock. If
                False, the lease ends unless the holder calls `lease.renew()`.
            max_hold: seconds after which the lease is no longer renewed, so that it is lost; None:
                no limit.
        """
        from holdfast.locks._async.lock import AsyncLock
        from holdfast.locks.keys import LOCK
        from holdfast.locks.options import FAMILIAR_OPTIONS, LockOptions

        check_options("lock", unknown, FAMILIAR_OPTIONS)
        options = LockOptions.checked(lease, auto_renew, max_hold, 1)
        return AsyncLock(self._permits(LOCK, name, options))

    def semaphore(
        self,
        name: str,
        *,
        limit: int | None = None,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
        on_conflict: OnConflict = "keep",
        **unknown: Never,
    ) -> AsyncSemaphore:
        """Return the semaphore called *name*: at most *limit* callers hold it at a time.

        Args:
            name: name of the semaphore.
            limit: maximum number of holders. The server stores it at the first acquisition, for all
                clients. None: the stored limit is used; if there is none, or if the semaphore was
                not used for a week, calls raise `NotDefined`.
            lease: see `lock`.
            auto_renew: see `lock`.
            max_hold: see `lock`.
            on_conflict: what happens if the server stores another limit. `keep`: the stored limit
                is used, and a warning is logged once. `update`: the given limit replaces it.
                `error`: calls raise `DefinitionConflict`.
        """
        from holdfast.locks._async.lock import AsyncSemaphore
        from holdfast.locks.keys import SEMAPHORE
        from holdfast.locks.options import FAMILIAR_OPTIONS, LockOptions

        check_options("semaphore", unknown, FAMILIAR_OPTIONS)
        options = LockOptions.checked(lease, auto_renew, max_hold, limit, on_conflict)
        return AsyncSemaphore(self._permits(SEMAPHORE, name, options))

    def rw_lock(
        self,
        name: str,
        *,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
        **unknown: Never,
    ) -> AsyncRwLock:
        """Return the reader-writer lock called *name*: many readers hold it at a time, or one
        writer.

        Args:
            name: name of the lock. A lock of `lock` with the same name is another one.
            lease: see `lock`.
            auto_renew: see `lock`.
            max_hold: see `lock`.
        """
        from holdfast.locks._async.rw_lock import AsyncRwLock
        from holdfast.locks.keys import RW_LOCK
        from holdfast.locks.options import FAMILIAR_OPTIONS, LockOptions
        from holdfast.locks.permit_scripts import READ_SCRIPTS, WRITE_SCRIPTS

        check_options("rw_lock", unknown, FAMILIAR_OPTIONS)
        options = LockOptions.checked(lease, auto_renew, max_hold, 1)
        readers = self._permits(RW_LOCK, name, options, READ_SCRIPTS)
        return AsyncRwLock(readers, self._permits(RW_LOCK, name, options, WRITE_SCRIPTS))

    def singleton(self, name: str, *, lease: Duration = 10.0, **unknown: Never) -> AsyncSingleton:
        """Return the singleton called *name*: `run` runs a function in one process at a time.

        Args:
            name: name of the lock for which the processes compete.
            lease: seconds after which another process takes over from one that crashed; at least 1.
        """
        from holdfast.locks._async.singleton import AsyncSingleton
        from holdfast.locks.options import FAMILIAR_OPTIONS

        check_options("singleton", unknown, FAMILIAR_OPTIONS)
        return AsyncSingleton(self.lock(name, lease=lease))

    def lock_all(
        self,
        names: Iterable[str],
        *,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
        **unknown: Never,
    ) -> AsyncLockAll:
        """Return several locks as one. They are acquired in the order of their names, so that there
        are no deadlocks.

        Args:
            names: names of the locks; duplicates count once.
            lease: see `lock`.
            auto_renew: see `lock`.
            max_hold: see `lock`.
        """
        from holdfast.locks._async.lock import AsyncLockAll
        from holdfast.locks.options import FAMILIAR_OPTIONS

        check_options("lock_all", unknown, FAMILIAR_OPTIONS)
        if isinstance(names, str):
            raise TypeError("lock_all takes several names; for a single one use lock")
        return AsyncLockAll(
            self.lock(name, lease=lease, auto_renew=auto_renew, max_hold=max_hold)
            for name in dict.fromkeys(names)
        )

    async def locks(self, *, among: int = CATALOGUED, containing: str = "") -> dict[str, LockState]:
        """Return name → state of the locks that have a holder or a waiter now; at most 1,000.

        This method is for operators and dashboards, because it reads the state of each lock that
        was used recently. It may miss a lock that has had a holder for less than half a second.

        Args:
            among: maximum number of locks to read, the latest used first; by default all 10,000
                that the catalog has.
            containing: read only locks with this text in their names, ignoring case.
        """
        return await self._resources.lock_listing.locks(among, containing)

    async def semaphores(
        self, *, among: int = CATALOGUED, containing: str = ""
    ) -> dict[str, SemaphoreState]:
        """Return name → state of the semaphores that have a holder or a waiter now; see `locks`."""
        return await self._resources.lock_listing.semaphores(among, containing)

    async def rw_locks(
        self, *, among: int = CATALOGUED, containing: str = ""
    ) -> dict[str, RwLockState]:
        """Return name → state of the reader-writer locks that are in use now; see `locks`."""
        return await self._resources.lock_listing.rw_locks(among, containing)

    def fenced(self, key: str) -> AsyncFenced:
        """Return the fenced value called *key*, which refuses writes with an old fence."""
        from holdfast.locks._async.fenced import AsyncFenced
        from holdfast.locks.keys import FENCED

        parts = self._resources
        return AsyncFenced(parts.caller, parts.namespace.unit(FENCED, key))

    def _permits(
        self, kind: str, name: str, options: LockOptions, scripts: PermitScripts | None = None
    ) -> AsyncPermits:
        from holdfast.locks._async.permits import AsyncPermits
        from holdfast.locks.permit_scripts import PERMIT_SCRIPTS

        parts = self._resources
        unit = parts.namespace.unit(kind, name)
        return AsyncPermits(
            parts.caller, parts.renewer, parts.waiters, unit, options, scripts or PERMIT_SCRIPTS
        )

    # Rate limits

    def rate_limit(self, name: str, *limits: Limit) -> AsyncRateLimiter:
        """Return the rate limiter called *name*: in any window, no more passes than *limits* allow.

        All processes that use this name share the limiter. Each process applies the limits that it
        gives, and counts what has passed in all processes.

        Args:
            name: name of the limiter.
            limits: one to eight limits. Limits with the same name count the same cost, and need
                different periods.
        """
        from holdfast.limits._async.rate_limiter import AsyncRateLimiter
        from holdfast.limits.limit import checked_limits

        parts = self._resources
        found = checked_limits(limits)
        shared = (parts.caller, parts.catalog, parts.namespace)
        return AsyncRateLimiter(*shared, name, found, parts.reservations)

    async def rate_limits(
        self, *, among: int = CATALOGUED, containing: str = ""
    ) -> dict[str, tuple[Limit, ...]]:
        """Return name → limits of the rate limiters that were used in the last month, at most
        1,000.

        Args:
            among: maximum number of limiters to read, the latest used first.
            containing: read only limiters with this text in their names, ignoring case.
        """
        from holdfast.limits._async.definitions import known_limiters
        from holdfast.limits.keys import LIMITER

        parts = self._resources
        names = await parts.catalog.every(LIMITER, among, containing)
        return await known_limiters(parts.caller, parts.catalog, parts.namespace, names)

    # Idempotency keys

    def idempotency(
        self, name: str, *, ttl: Duration = 86_400.0, lease: Duration = 60.0
    ) -> AsyncIdempotency:
        """Return the idempotency store called *name*. It keeps the answer to each call under an
        idempotency key, and a repeated call gets the answer to the first one.

        Args:
            name: name of the store, such as `payments`.
            ttl: seconds for which an answer is kept (or a timedelta), at most 366 days.
            lease: seconds after which the key of a caller that died is free; at least 1. The client
                renews the lease of a call that runs.
        """
        from holdfast.idempotency._async.store import AsyncIdempotency

        parts = self._resources
        shared = (parts.caller, parts.catalog, parts.notifier, parts.renewer, parts.namespace)
        return AsyncIdempotency(*shared, name, ttl, lease)

    async def idempotency_stores(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the stores in which calls began in the last month, sorted; *limit*:
        see `queues`."""
        from holdfast.idempotency.keys import STORE

        return sorted(await self._resources.catalog.every(STORE, limit))

    # Task queues

    def queue(
        self,
        name: str,
        *,
        capacity: int | None = None,
        partitions: int | None = None,
        on_conflict: OnConflict = "keep",
    ) -> AsyncQueue:
        """Return the task queue called *name*.

        Args:
            name: name of the queue.
            capacity: maximum number of tasks that wait in the queue, ready and delayed. The server
                stores it at the first enqueue after this call, for all clients. None: the stored
                value is used, or no limit if there is none.
            partitions: number of parts into which the queue is divided, so that a cluster can
                distribute it, 1 to 256. The server stores it at the first enqueue after this call.
                None: the stored value is used, or 1 if there is none.
            on_conflict: what happens if the server stores another capacity or another number of
                partitions; see `semaphore`.
        """
        from holdfast.queues._async.queue import AsyncQueue
        from holdfast.queues.partitions.layout import checked_partitions
        from holdfast.queues.queue_stats import checked_capacity

        parts = self._resources
        producer = parts.producer
        checked_on_conflict(on_conflict)
        if checked_capacity(capacity) is not None:
            producer.define(name, capacity, on_conflict)
        if partitions is not None:
            number = checked_partitions(partitions)
            producer.partition_definitions.give(name, number, on_conflict)
        return AsyncQueue(parts.caller, parts.notifier, parts.catalog, producer, name)

    async def queues(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the task queues, the latest used first.

        Args:
            limit: maximum number of names, up to the 10,000 that the catalog has.
        """
        from holdfast.queues.keys import KIND

        return await self._resources.catalog.every(KIND, limit)

    async def enqueue(self, call: Call[R], *, op_id: str | None = None) -> AsyncTaskHandle[R]:
        """Enqueue one task, in the queue that the task names.

        Args:
            call: the result of `task.call(…)`.
            op_id: id of this operation; None: a new one. The server applies an operation once, even
                if it is sent several times.

        Raises:
            ServerUnavailable: the task was not stored.
            QueueAtCapacity: the task was not stored, because the queue is full.
            DefinitionConflict: the task was not stored: the queue has another capacity, and this
                client called `queue` with `on_conflict="error"`.
            OutcomeUnknown: the task may have been stored; `repeat()` stores it exactly once.
            PayloadTooLarge: the arguments are over the limit.
        """
        return await self._resources.producer.enqueue(call, op_id)

    async def enqueue_many(
        self, calls: Iterable[Call[R]], *, op_id: str | None = None
    ) -> list[AsyncTaskHandle[R]]:
        """Enqueue many tasks with few calls. In each queue they have the order of *calls*.

        Args:
            calls: results of `task.call(…)`.
            op_id: see `enqueue`.

        Raises:
            ServerUnavailable: no task was stored.
            QueueAtCapacity: a queue has no room for all its tasks. Its tasks were not stored, nor
                those of queues that come later in *calls*.
            DefinitionConflict: see `enqueue`. Tasks were stored as after `QueueAtCapacity`.
            OutcomeUnknown: some tasks may have been stored; `repeat()` stores the others. Each task
                is stored exactly once.
            PayloadTooLarge: the arguments of a task are over the limit. No task was stored.
        """
        return await self._resources.producer.enqueue_many(calls, op_id)

    async def schedule(
        self,
        name: str,
        call: Call[Any],
        timing: Timing,
        *,
        missed: Missed = "once",
        overlap: Overlap = "allow",
        op_id: str | None = None,
    ) -> AsyncScheduleHandle:
        """Store a schedule: the workers of the queue enqueue *call* at each instant of *timing*.

        An existing schedule of this name is changed; it keeps its counts, and whether it is paused.
        Each occurrence is enqueued once, as the task `name@instant` (in ms since 1970), within a
        second while a worker of the queue lives.

        Args:
            name: name of the schedule, at most 184 bytes, without blanks; unique in the namespace.
            call: made by `task.call(…)`, without `task_id`, `delay` and `at`.
            timing: a `Cron`, `Every` or `Once`.
            missed: what happens to occurrences that were due while no worker lived; see
                `Schedule`.
            overlap: see `Schedule`.
            op_id: see `OutcomeUnknown`.

        Raises:
            ScheduleExists: code declares a schedule of this name, or another queue has one.
            ValueError: *timing* has no instant left, or an option is wrong.
        """
        from holdfast.queues._async.schedule_handle import AsyncScheduleHandle
        from holdfast.queues.schedule.definition import ScheduleDefinition

        store = self._resources.schedule_store
        definition = ScheduleDefinition.checked(name, call, timing, missed=missed, overlap=overlap)
        await store.define(definition, op_id=op_id)
        return AsyncScheduleHandle(name, store)

    def schedule_handle(self, name: str) -> AsyncScheduleHandle:
        """Return the handle of a schedule, without a call to the server."""
        from holdfast.queues._async.schedule_handle import AsyncScheduleHandle
        from holdfast.queues.schedule.definition import checked_schedule_name

        return AsyncScheduleHandle(checked_schedule_name(name), self._resources.schedule_store)

    async def schedules(
        self, *, queue: str | None = None, limit: int = LISTED
    ) -> list[ScheduleStatus]:
        """Return the schedules, grouped by queue; in each queue, the next to fire first.

        Args:
            queue: return only the schedules of this queue; None: of all queues.
            limit: maximum number of schedules.

        Raises:
            DecodeError: another program changed a schedule.
        """
        from holdfast.queues.schedule.status import ScheduleStatus

        names = [queue] if queue is not None else await self.queues(limit=CATALOGUED)
        found = await self._resources.schedule_store.listed(names, limit)
        return [ScheduleStatus.of(each) for each in found]

    @overload
    async def enqueue_group(
        self,
        members: Iterable[Call[R]],
        *,
        then: Member | None = ...,
        on_failure: Member | None = ...,
        max_failures: int = ...,
        result_ttl: Duration = ...,
        lifetime: Duration = ...,
        group_id: str | None = ...,
        op_id: str | None = ...,
    ) -> AsyncGroupHandle[R]: ...

    @overload
    async def enqueue_group(
        self,
        members: Iterable[Member] | Chain | Group,
        *,
        then: Member | None = ...,
        on_failure: Member | None = ...,
        max_failures: int = ...,
        result_ttl: Duration = ...,
        lifetime: Duration = ...,
        group_id: str | None = ...,
        op_id: str | None = ...,
    ) -> AsyncGroupHandle[Any]: ...

    async def enqueue_group(
        self,
        members: Iterable[Member] | Chain | Group,
        *,
        then: Member | None = None,
        on_failure: Member | None = None,
        max_failures: int = 0,
        result_ttl: Duration = DAY_S,
        lifetime: Duration = 30 * DAY_S,
        group_id: str | None = None,
        op_id: str | None = None,
    ) -> AsyncGroupHandle[Any]:
        """Enqueue tasks that belong together, and a callback when all of them have succeeded.

        A member is a call, a group (see `group`) or a chain (see `chain`). A callback (*then* or
        *on_failure*) is one of these as well. In the arguments of a callback, `RESULT` stands for
        the list of all results, and `GROUP_ID` for the id of the group.

        Args:
            members: what the group consists of, 1 to 100,000; or a chain.
            then: is enqueued once, when all members have ended and at most *max_failures* failed.
            on_failure: is enqueued once, when more than *max_failures* members have failed. A
                member has failed when its task is dead, was cancelled or was purged.
            max_failures: how many members may fail.
            result_ttl: seconds for which the group and its results are kept after its end (or a
                timedelta). A failed group is kept for its *lifetime*.
            lifetime: seconds after which the group expires, even if members have not ended.
            group_id: names the group; by default a unique id is made. If a group of this id exists,
                then only members that are missing are enqueued: repeat a call that was interrupted.
            op_id: see `OutcomeUnknown`. Without *group_id*, the id of the group is made from it.

        Raises:
            ValueError: there are no members; a member is unique or has a `task_id`; two functions
                have one name in a queue; a limited call is for partitions; or an option is wrong.
            GroupExists: the group of this id has other tasks.
            QueueAtCapacity: a queue has no room for its members.
            ServerUnavailable, OutcomeUnknown: members may be missing; repeat the call with the same
                id, or call `repeat()`.
        """
        from holdfast.queues.groups._async.group_producer import AsyncGroupProducer
        from holdfast.queues.groups.members import group_of
        from holdfast.queues.groups.status import GroupOptions

        parts = self._resources
        options = GroupOptions.checked(result_ttl, lifetime, group_id)
        found = group_of(members, then, on_failure, max_failures, group_id)
        producer = AsyncGroupProducer(parts.caller, parts.notifier, parts.groups)
        return await producer.enqueue(found, options, op_id=op_id)

    def group_handle(self, group_id: str) -> AsyncGroupHandle[Any]:
        """Return the handle of a group, without a call to the server."""
        from holdfast.queues.groups._async.group_handle import AsyncGroupHandle

        return AsyncGroupHandle(group_id, self._resources.groups, self._resources.notifier)

    async def groups(self, *, limit: int = LISTED) -> list[GroupStatus]:
        """Return the status of the groups, the latest first, without groups inside of others.

        Args:
            limit: maximum number of groups.
        """
        from holdfast.queues.groups.status import status_of
        from holdfast.queues.keys import GROUP

        names = await self._resources.catalog.every(GROUP, limit)
        records = await self._resources.groups.store.records(names)
        return [status_of(name, record) for name, record in records.items()]

    def worker(
        self,
        tasks: TaskRegistry,
        *,
        queues: Mapping[str, int] | None = None,
        concurrency: int = 50,
        lease: Duration = 30.0,
        grace: Duration = 25.0,
        unknown_timeout: Duration = 3600.0,
        cpu_processes: int | None = None,
        group: str = "",
    ) -> AsyncWorker:
        """Return a worker for the tasks of a registry. Start it with `run`.

        Args:
            tasks: registry of the tasks that the worker can run.
            queues: queue → weight. While all queues have tasks, each gets a share of the running
                tasks in proportion to its weight. None: the queues that the tasks name, with equal
                weights.
            concurrency: maximum number of tasks that run at the same time.
            lease: seconds after which other workers run the tasks of a worker that died; at least
                1.
            grace: seconds for which running tasks may continue when the worker is stopped.
            unknown_timeout: seconds that a task that is not in *tasks* waits for a worker that
                knows it, for example during a deployment. Then it is dead-lettered with the reason
                `unknown-task`.
            cpu_processes: child processes for tasks with `cpu=True`, at most 256; by default one
                for each CPU. They are started when they are needed.
            group: name of the group of processes to which the worker belongs; `workers` shows it.
        """
        check_posix("a worker", "run it there; tasks may be enqueued from here")
        from holdfast.queues.worker.options import WorkerOptions
        from holdfast.queues.worker.worker import AsyncWorker

        parts = self._resources
        plan = WorkerOptions.checked(
            parts.namespace,
            tasks,
            queues=queues,
            concurrency=concurrency,
            lease=lease,
            grace=grace,
            unknown_timeout=unknown_timeout,
            cpu_processes=cpu_processes,
            group=group,
        )
        return AsyncWorker(parts.caller, plan, parts.maxmemory_check)

    def outbox_relay(self, outbox: Outbox, engine: AsyncEngine) -> AsyncOutboxRelay:
        """Return a relay, which enqueues the tasks of an outbox. Start it with `run`.

        Args:
            outbox: the outbox.
            engine: engine of SQLAlchemy for the database of the outbox.
        """
        from holdfast.outbox._async.relay import AsyncOutboxRelay

        parts = self._resources
        return AsyncOutboxRelay(parts.producer, parts.lifetime, outbox, engine)

    # Mailboxes and chats

    def mailbox(
        self,
        name: str,
        *,
        capacity: int | None = None,
        overflow: Overflow | None = None,
        on_conflict: OnConflict = "keep",
    ) -> AsyncMailbox:
        """Return the mailbox called *name*. The first message creates it on the server.

        Args:
            name: name of the mailbox, such as the id of a user.
            capacity: maximum number of unread messages, 1 to 100,000. The server stores it at the
                first send after this call, for all clients. None: the stored value is used, or
                10,000 if there is none.
            overflow: what happens when the mailbox is full. `reject`: `send` raises `MailboxFull`;
                `drop_oldest`: the oldest message is dropped. The server stores it like *capacity*.
                None: the stored value is used, or `reject` if there is none.
            on_conflict: what happens if the server stores another capacity or overflow; see
                `semaphore`.
        """
        from holdfast.messages._async.mailbox import AsyncMailbox

        return AsyncMailbox(self._resources.messaging, name, capacity, overflow, on_conflict)

    async def mailboxes(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the mailboxes, the latest used first; *limit*: see `queues`."""
        from holdfast.messages.keys import MAILBOX

        return await self._resources.catalog.every(MAILBOX, limit)

    async def create_chat(
        self,
        members: Iterable[str],
        *,
        sender: str,
        body: Any,
        chat_id: str | None = None,
        keep: Keep = 1_000,
        idle_ttl: Duration = 7 * 86_400.0,
        history: History = "since_join",
        op_id: str | None = None,
    ) -> AsyncChat:
        """Create a chat with its first message.

        Args:
            members: names of the members, at most 10,000. The sender is always a member.
            sender: name of the sender of the first message.
            body: body of the first message: a JSON value or bytes, at most 1 MiB.
            chat_id: id of the chat; None: a new id.
            keep: number of messages that the chat keeps, read or not: the newest 1 to 100,000. Or
                `until_read`: each message is kept until all active members have acknowledged it,
                but at most 100,000 messages.
            idle_ttl: with `until_read`, seconds (or a timedelta) after which a member who neither
                sends nor acknowledges messages is inactive. Messages are not kept for inactive
                members; they get a `Gap` instead.
            history: messages that a new member may read. `since_join`: those that were sent after
                the member joined, or from `start` of `join` on; `open`: all that are kept.
            op_id: see `enqueue`.

        Raises:
            ChatExists: a chat with this id exists already.
            TooManyMembers: there are more than 10,000 members.
            PayloadTooLarge: the body is over the limit.
        """
        from holdfast.messages._async.chat import create_chat
        from holdfast.messages.options import ChatOptions

        options = ChatOptions.checked(members, sender, chat_id, keep, idle_ttl, history)
        return await create_chat(self._resources.messaging, options, body, op_id=op_id)

    def chat(self, chat_id: str) -> AsyncChat:
        """Return the chat with this id, without checking whether it exists."""
        from holdfast.messages._async.chat import AsyncChat

        return AsyncChat(self._resources.messaging, chat_id)

    async def chats(self, *, limit: int = LISTED) -> list[str]:
        """Return the ids of the chats of all users, the latest used first; *limit*: see `queues`.

        For the chats of one user, use `inbox`.
        """
        from holdfast.messages.keys import CHAT

        return await self._resources.catalog.every(CHAT, limit)

    def inbox(self, user: str) -> AsyncInbox:
        """Return the inbox of *user*, which reads all chats of the user."""
        from holdfast.messages._async.inbox import AsyncInbox

        return AsyncInbox(self._resources.messaging, user)

    # Autocomplete

    def recent(
        self, name: str, *, limit: int | None = None, on_conflict: OnConflict = "keep"
    ) -> AsyncRecent:
        """Return the list of recent names called *name*, such as `player:7`.

        Args:
            name: name of the list.
            limit: maximum number of names in the list, 1 to 1,000. The server stores it at the
                first touch after this call, for all clients. None: the stored value is used, or 100
                if there is none.
            on_conflict: what happens if the server stores another limit; see `semaphore`.
        """
        from holdfast.completions._async.recent import AsyncRecent
        from holdfast.completions.checks import checked_limit
        from holdfast.completions.keys import RECENT

        parts = self._resources
        unit = parts.namespace.unit(RECENT, name)
        return AsyncRecent(parts.caller, unit, checked_limit(limit), on_conflict)

    def completions(self, name: str) -> AsyncCompletions:
        """Return the completions called *name*, such as `guild:3`: a set of names to search by
        prefix."""
        from holdfast.completions._async.completions import AsyncCompletions
        from holdfast.completions.keys import COMPLETIONS

        parts = self._resources
        unit = parts.namespace.unit(COMPLETIONS, name)
        return AsyncCompletions(parts.caller, parts.catalog, unit)

    async def known_completions(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the `completions` objects that were added to in the last month.

        They are sorted by their last addition, the latest first. Some may be empty by now.

        Args:
            limit: see `queues`.
        """
        from holdfast.completions.keys import COMPLETIONS

        return await self._resources.catalog.every(COMPLETIONS, limit)

    # Counters

    def counter(
        self,
        name: str,
        *,
        precisions: Iterable[int] | None = None,
        keep: int | None = None,
        on_conflict: OnConflict = "keep",
    ) -> AsyncCounter:
        """Return the counter called *name*.

        Args:
            name: name of the counter.
            precisions: lengths of the samples in seconds, at most 16. The counter has a series of
                samples for each. The server stores *precisions* and *keep* at the first add after
                this call, for all clients. If both are None, the stored values are used, or, if
                there are none, 1 s, 5 s, 1 min, 5 min, 1 h, 5 h and 1 day.
            keep: minimum number of samples of each precision that are kept, up to 1,000; None: 120.
            on_conflict: what happens if the server stores other values; see `semaphore`. With
                `update` the next add replaces them. Then a new precision begins without samples,
                and the samples of a removed one expire.
        """
        from holdfast.counters._async.counter import AsyncCounter
        from holdfast.counters.definition import CounterOptions
        from holdfast.counters.keys import KIND

        parts = self._resources
        options = CounterOptions.checked(precisions, keep, on_conflict)
        return AsyncCounter(parts.caller, parts.catalog, parts.namespace.unit(KIND, name), options)

    def counter_buffer(self, *, flush_every: Duration = 1.0) -> AsyncCounterBuffer:
        """Return a buffer that adds to counters periodically. Close the buffer or the client.

        Args:
            flush_every: seconds between flushes, at least 0.01. If the process is killed, the
                counts since the last flush are lost.
        """
        from holdfast.counters._async.buffer import AsyncCounterBuffer

        parts = self._resources
        buffer = AsyncCounterBuffer(
            parts.caller, parts.catalog, self.counter, flush_every, parts.buffers.discard
        )
        parts.buffers.add(buffer)
        return buffer

    async def known_counters(self, *, among: int = CATALOGUED, containing: str = "") -> list[str]:
        """Return the names of at most 1,000 counters, the latest used, sorted by name.

        Counters without samples are left out, and counters to which nothing was added for a month.
        Only the 10,000 latest used counters are known.

        Args:
            among: maximum number of counters to check, the latest used first.
            containing: check only counters with this text in their names, ignoring case.
        """
        from holdfast.counters._async.listing import known_counters
        from holdfast.counters.keys import KIND

        parts = self._resources
        names = await parts.catalog.every(KIND, among, containing)
        return await known_counters(parts.caller, parts.catalog, parts.namespace, names)

    # Row caches

    def row_cache(  # noqa: PLR0913 (one option each)
        self,
        name: str,
        *,
        source: RowSource | None = None,
        shards: int | None = None,
        on_conflict: OnShardsConflict = "keep",
        lease: Duration = 10.0,
        ttl: Duration = 60.0,
        stale_for: Duration = 3600.0,
        codec: Codec | None = None,
        into: Any = Any,
        near: Near | bool = False,
    ) -> AsyncRowCache:
        """Return the row cache called *name*.

        Args:
            name: name of the cache.
            source: `SqlRows`, or any object with `load(ids)`; None: the object only reads cached
                rows.
            shards: number of parts into which the cache is divided, so that a cluster can
                distribute it, 1 to 256. The server stores it at the first write; it cannot be
                changed. None: the stored number is used, or 1 if there is none.
            on_conflict: what happens if the server stores another number of shards. `keep`: the
                stored number is used, and a warning is logged once. `error`: calls raise
                `DefinitionConflict`.
            lease: seconds that a load may take before another process loads the row; at least 1.
            ttl: seconds for which a row without a schedule is fresh. The absence of a row is fresh
                for at most 5 seconds.
            stale_for: seconds for which readers still get a row after it was fresh.
            codec: encodes rows; None: the codec of the client.
            into: type of the rows that are read, such as a dataclass; by default plain JSON values.
            near: whether fresh rows are also kept in the memory of this process; `Near(…)` sets its
                size. The server reports each change, and nothing is served from memory while the
                connection for these reports is not confirmed. All objects of this client for the
                cache share the memory.
        """
        from holdfast.rows._async.row_cache import AsyncRowCache
        from holdfast.rows.keys import CACHE
        from holdfast.rows.options import RowCacheOptions

        parts = self._resources
        options = RowCacheOptions.checked(
            shards, on_conflict, lease, ttl, stale_for, codec or parts.codec, into
        )
        shared = (parts.caller, parts.notifier, parts.catalog, parts.namespace)
        memory = parts.near_caches.cache(parts.namespace.unit(CACHE, name), near)
        return AsyncRowCache(*shared, name, source=source, options=options, near=memory)

    async def row_caches(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the row caches, the latest used first; *limit*: see `queues`."""
        from holdfast.rows.keys import CACHE

        return await self._resources.catalog.every(CACHE, limit)

    # Cached functions

    def cached(
        self, **options: Unpack[CachedOptions]
    ) -> Callable[[UserCall[P, R]], AsyncCachedFunction[P, R]]:
        """Return a decorator that stores the results of a function on the server.

        For functions of a module, which are decorated before there is a client, use
        `CacheRegistry.cached`.

        Args:
            options: see `CachedOptions`; `ttl` is required.

        Raises:
            TypeError, ValueError: an option is not valid.
        """
        from holdfast.cache._async.cached_function import AsyncCachedFunction
        from holdfast.cache.binding import Binding
        from holdfast.cache.options import CacheOptions

        checked, shared = CacheOptions.checked(options), self._resources.cache
        return lambda function: AsyncCachedFunction(function, checked, Binding(shared))

    async def invalidate_tags(self, *tags: str) -> None:
        """Invalidate all results of cached functions that have one of *tags*.

        After this method has returned, no such result is returned that began to be computed before
        it was called. Harmless to repeat.

        Raises:
            ServerUnavailable: old results may still be returned.
        """
        await self._resources.cache.invalidate_tags(tags)

    async def invalidate_cached(self, function: str, *, key: str | None = None) -> None:
        """Invalidate all results of a cached function, for operators.

        Args:
            function: name of the function.
            key: the end of the key of one result, such as `1:[42]`; None: all results.
        """
        await self._resources.cache.invalidate_function(function, key)

    async def cached_functions(self, *, limit: int = LISTED) -> dict[str, CachedFunctionStatus]:
        """Return name → status of the cached functions of the last month, the latest used first.

        Args:
            limit: see `queues`.
        """
        return await self._resources.cache.functions(limit)

    async def cached_function(self, name: str) -> CachedFunctionStatus | None:
        """Return the status of a cached function; None if it was not used for a month."""
        return await self._resources.cache.function(name)

    # Files

    def file_feed(
        self,
        name: str,
        *,
        consumers: Iterable[str] | None = None,
        budget: int | None = None,
        mode: Mode | None = None,
        lease: Duration | None = None,
        on_conflict: OnConflict = "keep",
    ) -> AsyncFileFeed:
        """Return the feed called *name*, which delivers files to consumers.

        The first call of a client that gives options stores them on the server. If all options are
        None, the stored options are used; if there are none, calls raise `NotDefined`. Mode and
        consumers never change: a client that gives other ones gets `DefinitionConflict`.

        Args:
            name: name of the feed.
            consumers: names of the consumers, up to 100. With `share`, None means any consumer.
            budget: bytes of the server's memory that the feed may use, 1 MiB to 1 TiB; None:
                256 MiB.
            mode: `broadcast`: each consumer gets each file; `share`: one consumer gets each file.
                None: `broadcast`.
            lease: seconds without a call after which a consumer counts as dead; at least 1; None:
                30. With `share`, other consumers then get its files. With `broadcast`, publishers
                then do not wait for it, and the feed may drop chunks that it has not read.
            on_conflict: what happens if the server stores another budget or lease; see `semaphore`.
        """
        check_posix("a file feed", "publish and read files there")
        from holdfast.files._async.feed import AsyncFileFeed
        from holdfast.files._async.feed_store import AsyncFeedStore
        from holdfast.files.keys import KIND
        from holdfast.files.options import FeedOptions

        parts = self._resources
        options = FeedOptions.checked(consumers, budget, mode, lease)
        unit = parts.namespace.unit(KIND, name)
        shared = (parts.caller, parts.notifier, parts.renewer, parts.catalog)
        return AsyncFileFeed(AsyncFeedStore(*shared, unit, options, on_conflict))

    async def file_feeds(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the feeds with published files in the last month; *limit*: see
        `queues`."""
        from holdfast.files.keys import KIND

        return await self._resources.catalog.every(KIND, limit)

    # Tallies

    def tally(self, name: str) -> AsyncTally:
        """Return the tally called *name*, which counts lines of files by day and dimension."""
        from holdfast.tallies._async.tally import AsyncTally
        from holdfast.tallies.keys import KIND

        parts = self._resources
        return AsyncTally(parts.caller, parts.catalog, parts.namespace.unit(KIND, name))

    async def tallies(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the tallies with new counts in the last month, sorted.

        Args:
            limit: see `queues`.
        """
        from holdfast.tallies.keys import KIND

        return sorted(await self._resources.catalog.every(KIND, limit))

    # Operators

    async def workers(self) -> list[WorkerStatus]:
        """Return at most 1,000 workers of task queues in this namespace, sorted by their latest
        heartbeat.

        A worker that was killed stays listed for five minutes; check how long it has been `silent`.
        """
        from holdfast.queues._async.workers import list_workers

        return await list_workers(self._resources.caller, self._resources.namespace)

    async def servers(self) -> list[ServerFacts]:
        """Return the state of each server that has data: one server, or each primary of a cluster.

        Values that the user of this client may not read are None: `acl_rule` allows neither the
        slow log nor `CONFIG`.

        Raises:
            ServerUnavailable: a server does not answer.
        """
        from holdfast.client._async.admin import list_servers

        return await list_servers(self._resources.caller, self._resources.namespace)

    async def diagnose(self, *, near: bool = False) -> list[Finding]:
        """Return problems, and possible problems, of the servers that have data, the most serious
        first.

        Check persistence, eviction, memory, replicas, slots, known vulnerabilities, clocks,
        slowness, schedules, and the rights of this client's user, without changing anything. For
        each check that the user may not make there is a note: `acl_rule` allows neither `CONFIG`
        nor the slow log.

        Args:
            near: whether to check the rights that near caches need, too. They are always checked
                if this client has near caches.

        Raises:
            ServerUnavailable: a server does not answer.
        """
        from holdfast.client._async.doctor import diagnose

        found = self._resources
        parts = (found.caller, found.namespace, found.catalog, found.schedule_store)
        return await diagnose(*parts, near=near or bool(found.near_caches))

    async def layout_version(self) -> int | None:
        """Return the version of the layout that the namespace stores; None: it stores none yet.

        Return it even if this program cannot read that layout. All other methods then raise
        `UnsupportedLayout`.
        """
        from .layout_version import stored_version

        return await stored_version(self._resources.caller, self._resources.namespace)

    async def audit(self) -> AuditReport:
        """Check that all keys of this namespace, on all servers, are consistent.

        For example, each task must be in exactly one list, no message may be missing between
        others, sums must add up, and keys that should expire must have an expiry.

        The audit reads in bounded steps and changes nothing. Clients may continue to work, because
        suspected damage is checked again before it is reported. The audit needs memory for the
        names of all keys.

        Raises:
            ServerUnavailable: a server does not answer.
        """
        from holdfast.client._async.audit import audit

        return await audit(self._resources.caller, self._resources.namespace)

    async def erase_namespace(self) -> int:
        """Remove all keys of this namespace, permanently. Return the number of removed keys.

        Use it for tests, or when a tenant has left. It scans all keys of the server in steps of a
        thousand, so that other clients do not wait; a hundred million keys take minutes. Clients
        that still work in the namespace create new keys.

        Raises:
            ServerUnavailable: a server does not answer. Some keys remain, so call it again.
        """
        from holdfast.client._async.erasing import erase

        return await erase(self._resources.caller, self._resources.namespace)
