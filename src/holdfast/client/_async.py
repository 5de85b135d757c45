"""`AsyncHoldfast`: one client, every block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from ..completions import keys as completion_keys
from ..completions._async import AsyncCompletions
from ..completions.limits import checked_limit
from ..completions.recent._async import AsyncRecent
from ..core.clock import Duration, to_seconds
from ..core.codec import JSON, Codec
from ..counters import keys as counter_keys
from ..counters._async import AsyncCounter
from ..counters.buffer._async import AsyncCounterBuffer
from ..counters.known._async import known_counters
from ..counters.shape import USUAL_KEEP, USUAL_PRECISIONS, Shape
from ..locks import keys as lock_keys
from ..locks._async import AsyncLock, AsyncLockAll, AsyncSemaphore
from ..locks.fenced._async import AsyncFenced
from ..locks.places._async import AsyncPlaces
from ..locks.states import LockState, SemaphoreState
from ..locks.terms import Terms
from ..messages import keys as message_keys
from ..messages._async import AsyncMailbox
from ..messages.chat._async import AsyncChat, create_chat
from ..messages.inbox._async import AsyncInbox
from ..messages.terms import DEFAULT_IDLE_S, DEFAULT_KEEP, Founding, Keep, Overflow
from ..queues import keys as queue_keys
from ..queues._async import AsyncQueue
from ..queues.handle._async import AsyncTaskHandle
from ..queues.registry import TaskRegistry
from ..queues.task import Call, checked_call, checked_capacity
from ..queues.worker.plan import Plan
from ..queues.worker.worker import AsyncWorker
from ..rows import keys as row_keys
from ..rows._async import AsyncRowCache
from ..rows.source import RowSource
from ..rows.terms import Terms as RowTerms
from .logs._async import AsyncLogs

R = TypeVar("R")


class AsyncHoldfast(AsyncLogs):
    """Application building blocks on one Valkey or Redis.

    It opens connections of its own, like those of the client it is given, and closes only these.
    One object serves a whole application: all its threads, or all tasks of its event loop. After a
    fork it starts afresh in the child.

    Args:
        redis: a redis-py client of yours: `Redis`, `RedisCluster` or a Sentinel's primary, of
            either half. Only its settings are used; its `socket_timeout` bounds every call.
        namespace: keeps this application's data apart from others' on the same server.
    """

    # Locks and semaphores

    def lock(
        self,
        name: str,
        *,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
    ) -> AsyncLock:
        """The lock called *name*: at most one holds it at a time.

        Args:
            name: what is locked.
            lease: seconds after which the place of a holder that crashed is free; at least 1.
            auto_renew: renew the lease of whoever holds it until it is released. Without it a
                holder has one lease, and `lease.renew()`.
            max_hold: seconds after which the lease is renewed no more, and is lost; None never.
        """
        return AsyncLock(
            self._places(lock_keys.LOCK, name, Terms.checked(lease, auto_renew, max_hold, 1))
        )

    def semaphore(
        self,
        name: str,
        *,
        limit: int | None = None,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
    ) -> AsyncSemaphore:
        """The semaphore called *name*: at most *limit* hold it at a time.

        Args:
            name: what is limited.
            limit: how many. The server keeps it: the first one to acquire sets it, and
                `DefinitionConflict` tells whoever says otherwise later. By default what the server
                has; `NotDefined` if it has none, or forgot it because nobody came for a week.
            lease: as in `lock`.
            auto_renew: as in `lock`.
            max_hold: as in `lock`.
        """
        terms = Terms.checked(lease, auto_renew, max_hold, limit)
        return AsyncSemaphore(self._places(lock_keys.SEMAPHORE, name, terms))

    def lock_all(
        self,
        names: Iterable[str],
        *,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
    ) -> AsyncLockAll:
        """Several locks at once, without deadlocks: always taken in the order of their names.

        Args:
            names: of locks; one that is named twice is taken once.
            lease: as in `lock`.
            auto_renew: as in `lock`.
            max_hold: as in `lock`.
        """
        if isinstance(names, str):
            raise TypeError("lock_all takes several names; for a single one use lock")
        return AsyncLockAll(
            self.lock(name, lease=lease, auto_renew=auto_renew, max_hold=max_hold)
            for name in dict.fromkeys(names)
        )

    async def locks(self) -> dict[str, LockState]:
        """The locks that are held or waited for now, by name; at most 1,000.

        For people and dashboards: it asks for each lock that was in use lately, and may miss one
        that nobody has held for half a second.
        """
        return await self._roll.locks()

    async def semaphores(self) -> dict[str, SemaphoreState]:
        """The semaphores that are held or waited for now, by name; as `locks`."""
        return await self._roll.semaphores()

    def fenced(self, key: str) -> AsyncFenced:
        """The value called *key*, which refuses to be written under an older fence."""
        return AsyncFenced(self._caller, self._namespace.unit(lock_keys.FENCED, key))

    def _places(self, kind: str, name: str, terms: Terms) -> AsyncPlaces:
        unit = self._namespace.unit(kind, name)
        return AsyncPlaces(self._caller, self._renewer, self._lobby, unit, terms)

    # Task queues

    def queue(self, name: str, *, capacity: int | None = None) -> AsyncQueue:
        """The task queue called *name*.

        Args:
            name: of the queue.
            capacity: how many tasks may wait in it, ready and delayed. The server keeps it: the
                first one to enqueue after this sets it, and `DefinitionConflict` tells whoever says
                otherwise later. By default what the server has, at first no limit.
        """
        if checked_capacity(capacity) is not None:
            self._producer.define(name, capacity)
        return AsyncQueue(
            self._caller, self._bell, self._catalog, self._producer, self._namespace, name
        )

    async def queues(self) -> list[str]:
        """Names of the task queues, at most 1,000, the latest used first."""
        return await self._catalog.names(queue_keys.KIND)

    async def enqueue(self, call: Call[R], *, op_id: str | None = None) -> AsyncTaskHandle[R]:
        """Put one task in line, in the queue that it names.

        Args:
            call: made by `task.call(…)`.
            op_id: names this operation, so that doing it again changes nothing (`OutcomeUnknown`).

        Raises:
            ServerUnavailable: it is not stored.
            QueueAtCapacity: it is not stored: as many tasks wait as may.
            DefinitionConflict: it is not stored: the queue has another capacity than was said here.
            OutcomeUnknown: perhaps it is; `repeat()` stores it exactly once.
            PayloadTooLarge: its arguments are over the limit.
        """
        return await self._producer.enqueue(checked_call(call), op_id)

    async def enqueue_many(
        self, calls: Iterable[Call[R]], *, op_id: str | None = None
    ) -> list[AsyncTaskHandle[R]]:
        """Put tasks in line, in this order within each queue, hundreds in one step.

        Args:
            calls: made by `task.call(…)`.
            op_id: as in `enqueue`.

        Raises:
            ServerUnavailable: none is stored.
            QueueAtCapacity: none is stored in a queue that has no room for all that go there, nor
                in those that come after it in *calls*.
            DefinitionConflict: likewise, for a queue of another capacity than was said here.
            OutcomeUnknown: some are, perhaps; `repeat()` stores the rest, each exactly once.
            PayloadTooLarge: the arguments of one are over the limit; none is stored.
        """
        if isinstance(calls, Call):
            raise TypeError("enqueue_many takes several calls; for a single one use enqueue")
        return await self._producer.enqueue_many([checked_call(call) for call in calls], op_id)

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
        """A worker for the tasks of a registry; `run` it.

        Args:
            tasks: what may run.
            queues: queue → weight, its share while all have tasks; by default those that the tasks
                name, with equal weights.
            concurrency: tasks that run at once.
            lease: seconds until the tasks of a worker that vanished run elsewhere; at least 1.
            grace: seconds that running tasks are given to finish when the worker is stopped.
            unknown_timeout: seconds for which a task that is not in *tasks* waits for a worker that
                knows it, as while a new version is rolled out; then it is dead as `unknown-task`.
        """
        plan = Plan.checked(
            self._namespace,
            tasks,
            queues=queues,
            concurrency=concurrency,
            lease=lease,
            grace=grace,
            unknown_timeout=unknown_timeout,
        )
        return AsyncWorker(self._settings, plan)

    # Autocomplete

    def recent(self, name: str, *, limit: int | None = None) -> AsyncRecent:
        """The list of recent names called *name*, such as `player:7`.

        Args:
            name: of the list.
            limit: how many it keeps, 1 to 1,000. The server keeps it: the first touch after this
                sets it, and `DefinitionConflict` tells whoever says otherwise later. By default
                what the server has, at first 100.
        """
        unit = self._namespace.unit(completion_keys.RECENT, name)
        return AsyncRecent(self._caller, unit, checked_limit(limit))

    def completions(self, name: str) -> AsyncCompletions:
        """The names to be completed that are called *name*, such as `guild:3`."""
        return AsyncCompletions(
            self._caller, self._namespace.unit(completion_keys.COMPLETIONS, name)
        )

    # Counters

    def counter(
        self, name: str, *, precisions: Iterable[int] | None = None, keep: int | None = None
    ) -> AsyncCounter:
        """The counter called *name*.

        Args:
            name: of what is counted.
            precisions: seconds of one sample, each; at most 16 of them. The server keeps this and
                *keep*: the first add after this sets them, and `DefinitionConflict` tells whoever
                says otherwise later. By default what the server has, at first 1 s, 5 s, 1 min,
                5 min, 1 h, 5 h and 1 day.
            keep: how many samples of each precision are there at least, up to 1,000; by default
                120.
        """
        shape = None
        if precisions is not None or keep is not None:
            shape = Shape.checked(
                USUAL_PRECISIONS if precisions is None else precisions,
                USUAL_KEEP if keep is None else keep,
            )
        unit = self._namespace.unit(counter_keys.KIND, name)
        return AsyncCounter(self._caller, self._catalog, unit, shape)

    def counter_buffer(self, *, flush_every: Duration = 1.0) -> AsyncCounterBuffer:
        """A buffer that adds to counters of this client once in a while; close it, or the client.

        Args:
            flush_every: seconds, at least 0.01; so much is lost when the process is killed.
        """
        flush_every_s = to_seconds(flush_every, "flush_every")
        if flush_every_s < 0.01:
            raise ValueError(f"flush_every must be at least 0.01 s, got {flush_every_s:g}")
        buffer = AsyncCounterBuffer(self._caller, self._catalog, self.counter, flush_every_s)
        self._buffers.append(buffer)
        return buffer

    async def known_counters(self) -> list[str]:
        """Names of the counters, in order; at most 1,000, those added to last.

        A counter is one for as long as it keeps any sample. One that nobody has added to for a
        month is left out all the same, and so is one beyond the 10,000 added to last.
        """
        return await known_counters(self._caller, self._catalog, self._namespace)

    def row_cache(
        self,
        name: str,
        *,
        source: RowSource | None = None,
        shards: int | None = None,
        lease: Duration = 10.0,
        ttl: Duration = 60.0,
        stale_for: Duration = 3600.0,
        codec: Codec = JSON,
        into: Any = Any,
    ) -> AsyncRowCache:
        """The row cache called *name*.

        Args:
            name: of the cache.
            source: `SqlRows`, or any object with `load(ids)`; None: this one only reads.
            shards: parts that spread over a cluster, 1 to 256; kept by the server as of a counter.
            lease: seconds a load may take before another process does it; at least 1.
            ttl: seconds a row that nobody scheduled is fresh; an absent one at most 5.
            stale_for: seconds it may be given out after that.
            codec: how rows are stored.
            into: what they are when they are read, such as a dataclass; by default plain JSON.
        """
        terms = RowTerms.checked(shards, lease, ttl, stale_for, codec, into)
        here = (self._caller, self._bell, self._catalog, self._namespace)
        return AsyncRowCache(*here, name, source=source, terms=terms)

    async def row_caches(self) -> list[str]:
        """Names of the row caches, at most 1,000, the latest used first."""
        return await self._catalog.names(row_keys.CACHE)

    # Mailboxes and chats

    def mailbox(
        self, name: str, *, capacity: int | None = None, overflow: Overflow | None = None
    ) -> AsyncMailbox:
        """The mailbox called *name*; it begins with its first message.

        Args:
            name: of the mailbox, such as the user whose it is.
            capacity: how many messages may be unread in it, 1 to 100,000. The server keeps it: the
                first one to send after this sets it, and `DefinitionConflict` tells whoever says
                otherwise later. By default what the server has, at first 10,000.
            overflow: what happens to more: `reject` lets `send` raise `MailboxFull`, `drop_oldest`
                drops the oldest for a newer one. Kept likewise; at first `reject`.
        """
        return AsyncMailbox(self._post, name, capacity, overflow)

    async def mailboxes(self) -> list[str]:
        """Names of the mailboxes, at most 1,000, the latest used first."""
        return await self._catalog.names(message_keys.MAILBOX)

    async def create_chat(
        self,
        members: Iterable[str],
        *,
        sender: str,
        body: Any,
        chat_id: str | None = None,
        keep: Keep = DEFAULT_KEEP,
        idle_ttl: Duration = DEFAULT_IDLE_S,
        op_id: str | None = None,
    ) -> AsyncChat:
        """Begin a chat with its first message.

        Args:
            members: who is in it, at most 10,000; the sender is, named or not.
            sender: of the first message.
            body: the first message: a JSON value or bytes, at most 1 MiB.
            chat_id: names it; by default a new id.
            keep: how many messages are kept, the newest 1 to 100,000, read or not; or `until_read`:
                each until every active member has acknowledged it, and at most 100,000.
            idle_ttl: with `until_read`: a member who acknowledges and sends nothing for so many
                seconds (or a timedelta) holds back no messages any more, and gets a `Gap` later.
            op_id: names this operation, so that doing it again changes nothing (`OutcomeUnknown`).

        Raises:
            ChatExists: there is a chat with that id already.
            TooManyMembers: there are more than 10,000.
            PayloadTooLarge: the body is over the limit.
        """
        founding = Founding.checked(members, sender, chat_id, keep, idle_ttl)
        return await create_chat(self._post, founding, body, op_id=op_id)

    def chat(self, chat_id: str) -> AsyncChat:
        """The chat with that id. Asks nobody whether there is one."""
        return AsyncChat(self._post, chat_id)

    async def chats(self) -> list[str]:
        """Ids of the chats, at most 1,000, the latest used first. For those of a user: `inbox`."""
        return await self._catalog.names(message_keys.CHAT)

    def inbox(self, user: str) -> AsyncInbox:
        """All chats of *user*, as a reader of them."""
        return AsyncInbox(self._post, user)
