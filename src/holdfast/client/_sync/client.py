# Generated from _async/client.py by tools/unasync.py: edit that, then run `make sync`.
"""`Holdfast`: one client, every block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ...core._sync.catalog import LISTED
from ...core._sync.catalog import MOST as CATALOGUED
from ...core.clock import Duration
from .operations import Operations

if TYPE_CHECKING:
    from ...locks._sync.fenced import Fenced
    from ...locks._sync.lock import Lock, LockAll, Semaphore
    from ...locks._sync.permits import Permits
    from ...locks.options import LockOptions
    from ...locks.states import LockState, SemaphoreState
    from ...messages._sync.chat import Chat
    from ...messages._sync.inbox import Inbox
    from ...messages._sync.mailbox import Mailbox
    from ...messages.options import History, Keep, Overflow
    from ...queues._sync.handle import TaskHandle
    from ...queues._sync.queue import Queue
    from ...queues.registry import TaskRegistry
    from ...queues.task import Call
    from ...queues.worker.worker import Worker

R = TypeVar("R")


class Holdfast(Operations):
    """Application building blocks on one Valkey or Redis.

    It opens connections of its own, like those of the client it is given, and closes only these.
    One object serves a whole application: all its threads, or all tasks of its event loop. After a
    fork it starts afresh in the child.

    Args:
        redis: a redis-py client of yours: `Redis`, `RedisCluster` or a Sentinel's primary, of
            either half. Only its settings are used; its `socket_timeout` bounds every call. It may
            speak RESP 2 or 3, by `protocol`: connections of Holdfast always speak RESP 2.
        namespace: keeps this application's data apart from others' on the same server.
        codec: how row caches store rows unless they say otherwise; tasks and messages are JSON, as
            programs in other languages read them.
        durability: what a write waits for beside the server's answer: `Replicated(n)` or
            `Fsynced(n)`; what they do not get in time is an `OutcomeUnknown`. It costs a round trip
            to the replicas, or to the disk. Renewals of leases and hints do not wait. A server that
            cannot is `Unsupported`, before anything is written: a blocking client tells it when it
            is made, one of asyncio when `async with` begins, and else the first write does.
        telemetry: who is told what it does, such as `OpenTelemetry()`; by default nobody.
    """

    # Locks and semaphores

    def lock(
        self,
        name: str,
        *,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
    ) -> Lock:
        """The lock called *name*: at most one holds it at a time.

        Args:
            name: what is locked.
            lease: seconds after which the place of a holder that crashed is free; at least 1.
            auto_renew: renew the lease of whoever holds it until it is released. Without it a
                holder has one lease, and `lease.renew()`.
            max_hold: seconds after which the lease is renewed no more, and is lost; None never.
        """
        from holdfast.locks._sync.lock import Lock
        from holdfast.locks.keys import LOCK
        from holdfast.locks.options import LockOptions

        options = LockOptions.checked(lease, auto_renew, max_hold, 1)
        return Lock(self._permits(LOCK, name, options))

    def semaphore(
        self,
        name: str,
        *,
        limit: int | None = None,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
    ) -> Semaphore:
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
        from holdfast.locks._sync.lock import Semaphore
        from holdfast.locks.keys import SEMAPHORE
        from holdfast.locks.options import LockOptions

        options = LockOptions.checked(lease, auto_renew, max_hold, limit)
        return Semaphore(self._permits(SEMAPHORE, name, options))

    def lock_all(
        self,
        names: Iterable[str],
        *,
        lease: Duration = 10.0,
        auto_renew: bool = True,
        max_hold: Duration | None = None,
    ) -> LockAll:
        """Several locks at once, without deadlocks: always taken in the order of their names.

        Args:
            names: of locks; one that is named twice is taken once.
            lease: as in `lock`.
            auto_renew: as in `lock`.
            max_hold: as in `lock`.
        """
        from holdfast.locks._sync.lock import LockAll

        if isinstance(names, str):
            raise TypeError("lock_all takes several names; for a single one use lock")
        return LockAll(
            self.lock(name, lease=lease, auto_renew=auto_renew, max_hold=max_hold)
            for name in dict.fromkeys(names)
        )

    def locks(self, *, among: int = CATALOGUED, containing: str = "") -> dict[str, LockState]:
        """The locks that are held or waited for now, by name; at most 1,000.

        For people and dashboards: it asks for each lock that was in use lately, and may miss one
        that nobody has held for half a second.

        Args:
            among: how many it asks for at most: those that came into use last. By default all that
                are remembered.
            containing: ask only for names with this text in them, in capitals or not.
        """
        return self._lock_listing.locks(among, containing)

    def semaphores(
        self, *, among: int = CATALOGUED, containing: str = ""
    ) -> dict[str, SemaphoreState]:
        """The semaphores that are held or waited for now, by name; as `locks`."""
        return self._lock_listing.semaphores(among, containing)

    def fenced(self, key: str) -> Fenced:
        """The value called *key*, which refuses to be written under an older fence."""
        from holdfast.locks._sync.fenced import Fenced
        from holdfast.locks.keys import FENCED

        return Fenced(self._caller, self._namespace.unit(FENCED, key))

    def _permits(self, kind: str, name: str, options: LockOptions) -> Permits:
        from holdfast.locks._sync.permits import Permits

        unit = self._namespace.unit(kind, name)
        return Permits(self._caller, self._renewer, self._waiters, unit, options)

    # Task queues

    def queue(self, name: str, *, capacity: int | None = None) -> Queue:
        """The task queue called *name*.

        Args:
            name: of the queue.
            capacity: how many tasks may wait in it, ready and delayed. The server keeps it: the
                first one to enqueue after this sets it, and `DefinitionConflict` tells whoever says
                otherwise later. By default what the server has, at first no limit.
        """
        from holdfast.queues._sync.queue import Queue
        from holdfast.queues.task import checked_capacity

        if checked_capacity(capacity) is not None:
            self._producer.define(name, capacity)
        return Queue(
            self._caller, self._notifier, self._catalog, self._producer, self._namespace, name
        )

    def queues(self, *, limit: int = LISTED) -> list[str]:
        """Names of the task queues, the latest used first.

        Args:
            limit: how many at most, up to the 10,000 that are remembered.
        """
        from holdfast.queues.keys import KIND

        return self._catalog.every(KIND, limit)

    def enqueue(self, call: Call[R], *, op_id: str | None = None) -> TaskHandle[R]:
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
        return self._producer.enqueue(call, op_id)

    def enqueue_many(
        self, calls: Iterable[Call[R]], *, op_id: str | None = None
    ) -> list[TaskHandle[R]]:
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
        return self._producer.enqueue_many(calls, op_id)

    def worker(
        self,
        tasks: TaskRegistry,
        *,
        queues: Mapping[str, int] | None = None,
        concurrency: int = 50,
        lease: Duration = 30.0,
        grace: Duration = 25.0,
        unknown_timeout: Duration = 3600.0,
    ) -> Worker:
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
        from holdfast.queues.worker.options import WorkerOptions
        from holdfast.queues.worker.worker import Worker

        plan = WorkerOptions.checked(
            self._namespace,
            tasks,
            queues=queues,
            concurrency=concurrency,
            lease=lease,
            grace=grace,
            unknown_timeout=unknown_timeout,
        )
        return Worker(self._caller, plan, self._maxmemory_check)

    # Mailboxes and chats

    def mailbox(
        self, name: str, *, capacity: int | None = None, overflow: Overflow | None = None
    ) -> Mailbox:
        """The mailbox called *name*; it begins with its first message.

        Args:
            name: of the mailbox, such as the user whose it is.
            capacity: how many messages may be unread in it, 1 to 100,000. The server keeps it: the
                first one to send after this sets it, and `DefinitionConflict` tells whoever says
                otherwise later. By default what the server has, at first 10,000.
            overflow: what happens to more: `reject` lets `send` raise `MailboxFull`, `drop_oldest`
                drops the oldest for a newer one. Kept likewise; at first `reject`.
        """
        from holdfast.messages._sync.mailbox import Mailbox

        return Mailbox(self._messaging, name, capacity, overflow)

    def mailboxes(self, *, limit: int = LISTED) -> list[str]:
        """Names of the mailboxes, the latest used first; *limit* as of `queues`."""
        from holdfast.messages.keys import MAILBOX

        return self._catalog.every(MAILBOX, limit)

    def create_chat(
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
    ) -> Chat:
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
            history: `since_join`: a later member may read what is sent after it joined, and `start`
                of `join` can allow more; `open`: it may read all that is kept.
            op_id: names this operation, so that doing it again changes nothing (`OutcomeUnknown`).

        Raises:
            ChatExists: there is a chat with that id already.
            TooManyMembers: there are more than 10,000.
            PayloadTooLarge: the body is over the limit.
        """
        from holdfast.messages._sync.chat import create_chat
        from holdfast.messages.options import ChatOptions

        options = ChatOptions.checked(members, sender, chat_id, keep, idle_ttl, history)
        return create_chat(self._messaging, options, body, op_id=op_id)

    def chat(self, chat_id: str) -> Chat:
        """The chat with that id. Asks nobody whether there is one."""
        from holdfast.messages._sync.chat import Chat

        return Chat(self._messaging, chat_id)

    def chats(self, *, limit: int = LISTED) -> list[str]:
        """Ids of the chats, the latest used first; *limit* as of `queues`.

        For the chats of a user: `inbox`.
        """
        from holdfast.messages.keys import CHAT

        return self._catalog.every(CHAT, limit)

    def inbox(self, user: str) -> Inbox:
        """All chats of *user*, as a reader of them."""
        from holdfast.messages._sync.inbox import Inbox

        return Inbox(self._messaging, user)
