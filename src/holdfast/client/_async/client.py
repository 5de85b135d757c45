"""`AsyncHoldfast`: one client, with a factory for every block.

Each factory imports its block when it is called, so that a program loads only the blocks that it
uses. The imports are absolute: repeating one takes a third of the time of a relative import.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from ...core._async.catalog import LISTED
from ...core._async.catalog import MOST as CATALOGUED
from ...core.clock import Duration
from ...core.codec import JSON, Codec
from ...core.durability import Durability
from ...core.names import Namespace
from ...core.telemetry import Telemetry
from ...core.transport.settings import Client, Settings
from .resources import AsyncResources

if TYPE_CHECKING:
    from ...completions._async.completions import AsyncCompletions
    from ...completions._async.recent import AsyncRecent
    from ...counters._async.buffer import AsyncCounterBuffer
    from ...counters._async.counter import AsyncCounter
    from ...files._async.feed import AsyncFileFeed
    from ...files.options import Mode
    from ...locks._async.fenced import AsyncFenced
    from ...locks._async.lock import AsyncLock, AsyncLockAll, AsyncSemaphore
    from ...locks._async.permits import AsyncPermits
    from ...locks.options import LockOptions
    from ...locks.states import LockState, SemaphoreState
    from ...messages._async.chat import AsyncChat
    from ...messages._async.inbox import AsyncInbox
    from ...messages._async.mailbox import AsyncMailbox
    from ...messages.options import History, Keep, Overflow
    from ...queues._async.handle import AsyncTaskHandle
    from ...queues._async.queue import AsyncQueue
    from ...queues.registry import TaskRegistry
    from ...queues.task import Call
    from ...queues.worker.worker import AsyncWorker
    from ...queues.worker_status import WorkerStatus
    from ...rows._async.row_cache import AsyncRowCache
    from ...rows.source import RowSource
    from ...tallies._async.tally import AsyncTally
    from ..audit_report import AuditReport
    from ..finding import Finding
    from ..server_facts import ServerFacts, Topology

R = TypeVar("R")

DEFAULT_NAMESPACE: Final = "holdfast"


class AsyncHoldfast:
    """Application building blocks on one Valkey or Redis.

    It opens connections of its own, like those of the client it is given, and closes only these.
    One object serves a whole application: all its threads, or all tasks of its event loop. After a
    fork, the child opens new connections.

    Args:
        redis: a redis-py client of yours: `Redis`, `RedisCluster` or a Sentinel's primary, of
            either half. Only its settings are used; its `socket_timeout` bounds every call. It may
            speak RESP 2 or 3, by `protocol`: connections of Holdfast always speak RESP 2.
        namespace: the prefix of all keys; it separates applications on the same server.
        codec: how row caches store rows by default. Tasks and messages are always JSON, which
            programs in other languages read.
        durability: what a write waits for beside the server's answer: `Replicated(n)` or
            `Fsynced(n)`. A write that does not get it in time raises `OutcomeUnknown`. It costs a
            round trip to the replicas, or to the disk. Renewals of leases and hints do not wait.
            A server without support raises `Unsupported` before anything is written: when a
            blocking client is made, when `async with` begins, or at the first write.
        telemetry: what receives traces and metrics, such as `OpenTelemetry()`; by default nothing.
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
        """Return a client for a URL: `redis rediss unix redis+sentinel redis+cluster`.

        Args:
            url: such as `redis://localhost:6379/0`, `redis+sentinel://host:26379/mymaster` or
                `redis+cluster://host:7000,host:7001`. Several hosts are separated by commas.
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
        """Return a client with a Valkey server of its own, from the extra `server`.

        Args:
            folder: where the data are kept. All processes that open the folder share its server;
                the last one that closes it stops the server. None makes a private, temporary one.
            namespace: see the class.
            codec: see the class.
            durability: see the class. Writes to a folder are on disk without it, and there are no
                replicas.
            telemetry: see the class.

        Raises:
            ServerNotFound: there is no server binary; the message says what to install.
            ServerFailed: the server did not start.
        """
        from holdfast.server import EmbeddedServer

        Namespace.of(namespace)  # an invalid name must not start a server
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
        """Return the namespace, as it was given."""
        return self._resources.namespace.name

    @property
    def topology(self) -> Topology:
        """Return the arrangement of the servers: `standalone`, `sentinel` or `cluster`."""
        topology: Topology = self._resources.settings.topology  # type: ignore[assignment]
        return topology

    async def close(self) -> None:
        """Close what this client opened. Idempotent.

        Buffered counts are added first. After that, every call raises `ClientClosed`, also on
        objects that the client made before; calls that wait in other threads or tasks end with it
        at once. Workers stop and give back running tasks. Leases are no longer renewed: their
        holders see that they are lost, and the server frees them when they end.
        """
        await self._resources.close()

    async def __aenter__(self) -> Self:
        self._resources.lifetime.check("entering its context")
        await self._resources.caller.check_durability()
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
    ) -> AsyncLock:
        """Return the lock called *name*: at most one caller holds it at a time.

        Args:
            name: what is locked.
            lease: seconds until the server frees the lock of a holder that crashed; at least 1.
            auto_renew: renew the lease until the holder releases it. If False, a holder has one
                lease, and `lease.renew()`.
            max_hold: seconds after which the lease is no longer renewed, and is lost; None: never.
        """
        from holdfast.locks._async.lock import AsyncLock
        from holdfast.locks.keys import LOCK
        from holdfast.locks.options import LockOptions

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
    ) -> AsyncSemaphore:
        """Return the semaphore called *name*: at most *limit* callers hold it at a time.

        Args:
            name: what is limited.
            limit: the number of holders. The server stores it at the first acquisition; a client
                with another limit gets `DefinitionConflict`. If you omit it, the stored value is
                used; `NotDefined` if there is none, or if nothing used it for a week.
            lease: see `lock`.
            auto_renew: see `lock`.
            max_hold: see `lock`.
        """
        from holdfast.locks._async.lock import AsyncSemaphore
        from holdfast.locks.keys import SEMAPHORE
        from holdfast.locks.options import LockOptions

        options = LockOptions.checked(lease, auto_renew, max_hold, limit)
        return AsyncSemaphore(self._permits(SEMAPHORE, name, options))

    def lock_all(
        self,
        names: Iterable[str],
        *,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
    ) -> AsyncLockAll:
        """Return several locks as one, without deadlocks: they are acquired in order of name.

        Args:
            names: of the locks; duplicates count once.
            lease: see `lock`.
            auto_renew: see `lock`.
            max_hold: see `lock`.
        """
        from holdfast.locks._async.lock import AsyncLockAll

        if isinstance(names, str):
            raise TypeError("lock_all takes several names; for a single one use lock")
        return AsyncLockAll(
            self.lock(name, lease=lease, auto_renew=auto_renew, max_hold=max_hold)
            for name in dict.fromkeys(names)
        )

    async def locks(self, *, among: int = CATALOGUED, containing: str = "") -> dict[str, LockState]:
        """Return the locks that have a holder or a waiter now, by name; at most 1,000.

        For operators and dashboards: it reads the state of each lock that was used lately. It may
        miss one that had no holder for half a second.

        Args:
            among: how many locks it reads at most, the latest used first; by default all 10,000
                that the catalog keeps.
            containing: read only locks with this text in their names, in either case.
        """
        return await self._resources.lock_listing.locks(among, containing)

    async def semaphores(
        self, *, among: int = CATALOGUED, containing: str = ""
    ) -> dict[str, SemaphoreState]:
        """Return the semaphores that have a holder or a waiter now, by name; see `locks`."""
        return await self._resources.lock_listing.semaphores(among, containing)

    def fenced(self, key: str) -> AsyncFenced:
        """Return the value called *key*, which rejects writes with an older fence."""
        from holdfast.locks._async.fenced import AsyncFenced
        from holdfast.locks.keys import FENCED

        parts = self._resources
        return AsyncFenced(parts.caller, parts.namespace.unit(FENCED, key))

    def _permits(self, kind: str, name: str, options: LockOptions) -> AsyncPermits:
        from holdfast.locks._async.permits import AsyncPermits

        parts = self._resources
        unit = parts.namespace.unit(kind, name)
        return AsyncPermits(parts.caller, parts.renewer, parts.waiters, unit, options)

    # Task queues

    def queue(self, name: str, *, capacity: int | None = None) -> AsyncQueue:
        """Return the task queue called *name*.

        Args:
            name: of the queue.
            capacity: how many tasks may wait in it, ready and delayed. The server stores it at the
                first enqueue after this call; a client with another capacity gets
                `DefinitionConflict`. If you omit it, the stored value is used, at first no limit.
        """
        from holdfast.queues._async.queue import AsyncQueue
        from holdfast.queues.task import checked_capacity

        parts = self._resources
        producer = parts.producer
        if checked_capacity(capacity) is not None:
            producer.define(name, capacity)
        shared = (parts.caller, parts.notifier, parts.catalog, producer, parts.namespace)
        return AsyncQueue(*shared, name)

    async def queues(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the task queues, the latest used first.

        Args:
            limit: how many at most, up to the 10,000 that the catalog keeps.
        """
        from holdfast.queues.keys import KIND

        return await self._resources.catalog.every(KIND, limit)

    async def enqueue(self, call: Call[R], *, op_id: str | None = None) -> AsyncTaskHandle[R]:
        """Enqueue one task, in the queue that the task names.

        Args:
            call: made by `task.call(…)`.
            op_id: identifies this operation; the server applies it once, however often it is sent.

        Raises:
            ServerUnavailable: the task is not stored.
            QueueAtCapacity: the task is not stored: the queue is full.
            DefinitionConflict: the task is not stored: the queue has another capacity.
            OutcomeUnknown: the task may be stored; `repeat()` stores it exactly once.
            PayloadTooLarge: the arguments are over the limit.
        """
        return await self._resources.producer.enqueue(call, op_id)

    async def enqueue_many(
        self, calls: Iterable[Call[R]], *, op_id: str | None = None
    ) -> list[AsyncTaskHandle[R]]:
        """Enqueue tasks, in this order within each queue, hundreds in one step.

        Args:
            calls: made by `task.call(…)`.
            op_id: see `enqueue`.

        Raises:
            ServerUnavailable: no task is stored.
            QueueAtCapacity: a queue has no room for all of its tasks. None of them is stored, nor
                are the tasks of the queues that come later in *calls*.
            DefinitionConflict: a queue has another capacity; what is stored, as for
                `QueueAtCapacity`.
            OutcomeUnknown: some tasks may be stored; `repeat()` stores the rest, each exactly once.
            PayloadTooLarge: the arguments of one are over the limit; no task is stored.
        """
        return await self._resources.producer.enqueue_many(calls, op_id)

    def worker(
        self,
        tasks: TaskRegistry,
        *,
        queues: Mapping[str, int] | None = None,
        concurrency: int = 50,
        lease: Duration = 30.0,
        grace: Duration = 25.0,
        unknown_timeout: Duration = 3600.0,
    ) -> AsyncWorker:
        """Return a worker for the tasks of a registry; `run` it.

        Args:
            tasks: the tasks that it can run.
            queues: the weight of each queue, its share while all have tasks; by default the queues
                that the tasks name, with equal weights.
            concurrency: tasks that run at once.
            lease: seconds until the tasks of a worker that vanished run elsewhere; at least 1.
            grace: seconds that running tasks are given to finish when the worker is stopped.
            unknown_timeout: seconds that a task missing in *tasks* waits for a worker that knows
                it, as during a deployment. Then it is dead-lettered as `unknown-task`.
        """
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
        )
        return AsyncWorker(parts.caller, plan, parts.maxmemory_check)

    # Mailboxes and chats

    def mailbox(
        self, name: str, *, capacity: int | None = None, overflow: Overflow | None = None
    ) -> AsyncMailbox:
        """Return the mailbox called *name*; its first message creates it on the server.

        Args:
            name: of the mailbox, such as the id of a user.
            capacity: how many messages may be unread in it, 1 to 100,000. The server stores it at
                the first send after this call; a client with another capacity gets
                `DefinitionConflict`. If you omit it, the stored value is used, at first 10,000.
            overflow: what happens when it is full. `reject`: `send` raises `MailboxFull`;
                `drop_oldest`: the oldest message is dropped. Stored as *capacity* is; at first
                `reject`.
        """
        from holdfast.messages._async.mailbox import AsyncMailbox

        return AsyncMailbox(self._resources.messaging, name, capacity, overflow)

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
            members: the members, at most 10,000; the sender is always one.
            sender: of the first message.
            body: the first message: a JSON value or bytes, at most 1 MiB.
            chat_id: the id of the chat; by default a new one.
            keep: how many messages are kept, read or not: the newest 1 to 100,000. `until_read`
                keeps each until every active member has acknowledged it, and at most 100,000.
            idle_ttl: with `until_read`, seconds (or a timedelta) until a member that neither sends
                nor acknowledges is inactive: messages are not kept for it, and it gets a `Gap`.
            history: `since_join`: a new member reads messages sent after it joined, and `start` of
                `join` can allow more; `open`: it reads all messages that are kept.
            op_id: see `enqueue`.

        Raises:
            ChatExists: there is a chat with that id already.
            TooManyMembers: there are more than 10,000.
            PayloadTooLarge: the body is over the limit.
        """
        from holdfast.messages._async.chat import create_chat
        from holdfast.messages.options import ChatOptions

        options = ChatOptions.checked(members, sender, chat_id, keep, idle_ttl, history)
        return await create_chat(self._resources.messaging, options, body, op_id=op_id)

    def chat(self, chat_id: str) -> AsyncChat:
        """Return the chat with that id. This does not check whether the chat exists."""
        from holdfast.messages._async.chat import AsyncChat

        return AsyncChat(self._resources.messaging, chat_id)

    async def chats(self, *, limit: int = LISTED) -> list[str]:
        """Return the ids of the chats, the latest used first; *limit*: see `queues`.

        For the chats of one user, use `inbox`.
        """
        from holdfast.messages.keys import CHAT

        return await self._resources.catalog.every(CHAT, limit)

    def inbox(self, user: str) -> AsyncInbox:
        """Return all chats of *user*, to read them together."""
        from holdfast.messages._async.inbox import AsyncInbox

        return AsyncInbox(self._resources.messaging, user)

    # Autocomplete

    def recent(self, name: str, *, limit: int | None = None) -> AsyncRecent:
        """Return the list of recent names called *name*, such as `player:7`.

        Args:
            name: of the list.
            limit: how many names it keeps, 1 to 1,000. The server stores it at the first touch
                after this call; a client with another limit gets `DefinitionConflict`. If you omit
                it, the stored value is used, at first 100.
        """
        from holdfast.completions._async.recent import AsyncRecent
        from holdfast.completions.checks import checked_limit
        from holdfast.completions.keys import RECENT

        parts = self._resources
        unit = parts.namespace.unit(RECENT, name)
        return AsyncRecent(parts.caller, unit, checked_limit(limit))

    def completions(self, name: str) -> AsyncCompletions:
        """Return the set of names to complete called *name*, such as `guild:3`."""
        from holdfast.completions._async.completions import AsyncCompletions
        from holdfast.completions.keys import COMPLETIONS

        parts = self._resources
        unit = parts.namespace.unit(COMPLETIONS, name)
        return AsyncCompletions(parts.caller, parts.catalog, unit)

    async def known_completions(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the sets of `completions` that got names within the last month.

        The latest used first. The list is a hint: it may include empty sets.

        Args:
            limit: see `queues`.
        """
        from holdfast.completions.keys import COMPLETIONS

        return await self._resources.catalog.every(COMPLETIONS, limit)

    # Counters

    def counter(
        self, name: str, *, precisions: Iterable[int] | None = None, keep: int | None = None
    ) -> AsyncCounter:
        """Return the counter called *name*.

        Args:
            name: of what is counted.
            precisions: the length of a sample in seconds, for each of at most 16 series. The server
                stores this and *keep* at the first add after this call; a client with other values
                gets `DefinitionConflict`. If you omit both, the stored values are used, at first
                1 s, 5 s, 1 min, 5 min, 1 h, 5 h and 1 day.
            keep: how many samples of each precision are kept at least, up to 1,000; by default 120.
        """
        from holdfast.counters._async.counter import AsyncCounter
        from holdfast.counters.definition import CounterOptions
        from holdfast.counters.keys import KIND

        parts = self._resources
        options = CounterOptions.checked(precisions, keep)
        return AsyncCounter(parts.caller, parts.catalog, parts.namespace.unit(KIND, name), options)

    def counter_buffer(self, *, flush_every: Duration = 1.0) -> AsyncCounterBuffer:
        """Return a buffer that adds to counters periodically; close it, or the client.

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
        """Return the names of the counters, sorted; at most 1,000, the latest used.

        Counters without any sample are left out. So are those that nothing was added to for a
        month, and all but the 10,000 latest used.

        Args:
            among: how many names it reads at most, the latest used first.
            containing: read only names with this text in them, in either case.
        """
        from holdfast.counters._async.listing import known_counters
        from holdfast.counters.keys import KIND

        parts = self._resources
        names = await parts.catalog.every(KIND, among, containing)
        return await known_counters(parts.caller, parts.catalog, parts.namespace, names)

    # Row caches

    def row_cache(
        self,
        name: str,
        *,
        source: RowSource | None = None,
        shards: int | None = None,
        lease: Duration = 10.0,
        ttl: Duration = 60.0,
        stale_for: Duration = 3600.0,
        codec: Codec | None = None,
        into: Any = Any,
    ) -> AsyncRowCache:
        """Return the row cache called *name*.

        Args:
            name: of the cache.
            source: `SqlRows`, or any object with `load(ids)`; None: this object only reads.
            shards: parts that spread over a cluster, 1 to 256. The server stores it at the first
                write; a client with another number gets `DefinitionConflict`.
            lease: seconds a load may take before another process repeats it; at least 1.
            ttl: seconds that an unscheduled row is fresh; an absent row at most 5.
            stale_for: seconds after that in which reads still return the row.
            codec: how rows are stored; None: the codec of the client.
            into: the type of rows that are read, such as a dataclass; by default plain JSON.
        """
        from holdfast.rows._async.row_cache import AsyncRowCache
        from holdfast.rows.options import RowCacheOptions

        parts = self._resources
        options = RowCacheOptions.checked(shards, lease, ttl, stale_for, codec or parts.codec, into)
        shared = (parts.caller, parts.notifier, parts.catalog, parts.namespace)
        return AsyncRowCache(*shared, name, source=source, options=options)

    async def row_caches(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the row caches, the latest used first; *limit*: see `queues`."""
        from holdfast.rows.keys import CACHE

        return await self._resources.catalog.every(CACHE, limit)

    # Files

    def file_feed(
        self,
        name: str,
        *,
        consumers: Iterable[str] | None = None,
        budget: int | None = None,
        mode: Mode | None = None,
        lease: Duration | None = None,
    ) -> AsyncFileFeed:
        """Return the feed called *name*, which delivers files to consumers.

        The server stores the options at the first call of a client that gives any of them. A client
        with other options gets `DefinitionConflict`. If you omit all of them, the stored ones are
        used; `NotDefined` if there are none.

        Args:
            name: of the feed.
            consumers: their names, up to 100. With `share`, none means any consumer.
            budget: bytes of the server's memory that it may use, 1 MiB to 1 TiB; at first 256 MiB.
            mode: `broadcast`: each file goes to each consumer; `share`: to one of them.
            lease: seconds without a heartbeat until a consumer counts as dead; at least 1, at first
                30. Then its files go to other consumers. In `broadcast`, publishers no longer wait
                for it, and its unread chunks are dropped when the budget is needed.
        """
        from holdfast.files._async.feed import AsyncFileFeed
        from holdfast.files._async.feed_store import AsyncFeedStore
        from holdfast.files.keys import KIND
        from holdfast.files.options import FeedOptions

        parts = self._resources
        options = FeedOptions.checked(consumers, budget, mode, lease)
        unit = parts.namespace.unit(KIND, name)
        shared = (parts.caller, parts.notifier, parts.renewer, parts.catalog)
        return AsyncFileFeed(AsyncFeedStore(*shared, unit, options))

    async def file_feeds(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the feeds with uploads in the last month; *limit*: see `queues`."""
        from holdfast.files.keys import KIND

        return await self._resources.catalog.every(KIND, limit)

    # Tallies

    def tally(self, name: str) -> AsyncTally:
        """Return the tally called *name*: the number of lines by day and dimension."""
        from holdfast.tallies._async.tally import AsyncTally
        from holdfast.tallies.keys import KIND

        parts = self._resources
        return AsyncTally(parts.caller, parts.catalog, parts.namespace.unit(KIND, name))

    async def tallies(self, *, limit: int = LISTED) -> list[str]:
        """Return the names of the tallies written in the last month, sorted.

        *limit*: see `queues`.
        """
        from holdfast.tallies.keys import KIND

        return sorted(await self._resources.catalog.every(KIND, limit))

    # Operators

    async def workers(self) -> list[WorkerStatus]:
        """Return the workers of task queues in this namespace, the latest seen first.

        At most 1,000. A worker that was killed stays listed for five minutes: look at how long it
        has been `silent`.
        """
        from holdfast.queues._async.workers import list_workers

        return await list_workers(self._resources.caller, self._resources.namespace)

    async def servers(self) -> list[ServerFacts]:
        """Return the state of each server that holds data: one, or each primary of a cluster.

        What the user of this client may not ask for is None: `acl_rule` allows neither the slow log
        nor `CONFIG`.

        Raises:
            ServerUnavailable: one of them does not answer.
        """
        from holdfast.client._async.admin import list_servers

        return await list_servers(self._resources.caller, self._resources.namespace)

    async def diagnose(self) -> list[Finding]:
        """Return what is wrong, or may go wrong, with the servers that hold data; worst first.

        It checks persistence, eviction, memory, replicas, slots, known vulnerabilities, clocks,
        slowness, and the rights of this client's user. It changes nothing. Each check that the user
        may not make is a note: `acl_rule` allows neither `CONFIG` nor the slow log.

        Raises:
            ServerUnavailable: one of them does not answer.
        """
        from holdfast.client._async.doctor import diagnose

        return await diagnose(self._resources.caller, self._resources.namespace)

    async def audit(self) -> AuditReport:
        """Check every key of this namespace, on every server, against what its block promises.

        Among others: each task is in exactly one list, messages have no holes, cursors are within
        them, sums add up, keys that should expire do, and every key belongs to a unit.

        It reads in bounded steps and changes nothing. Clients may keep working: a suspected damage
        is checked again before it is reported. The names of all keys are kept in memory meanwhile.

        Raises:
            ServerUnavailable: one of the servers does not answer.
        """
        from holdfast.client._async.audit import audit

        return await audit(self._resources.caller, self._resources.namespace)

    async def erase_namespace(self) -> int:
        """Remove all keys of this namespace, permanently. Return how many there were.

        For tests, and for tenants that have left. It scans all keys of the server in steps of a
        thousand, so that other clients do not wait; a hundred million keys take minutes. A client
        that is still at work in the namespace creates new keys.

        Raises:
            ServerUnavailable: a server does not answer; some keys are left, so call it again.
        """
        from holdfast.client._async.erasing import erase

        return await erase(self._resources.caller, self._resources.namespace)
