# Generated from _async.py by tools/unasync.py: edit that one, then `make sync`.
"""`Holdfast`: one client, every block."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Self, TypeVar

from ..core.bell import Bell
from ..core.call._sync import Caller
from ..core.catalog._sync import Catalog
from ..core.clock import Duration
from ..core.connections.settings import Client, Settings
from ..core.names import Namespace
from ..core.runtime._sync import in_thread
from ..queues import keys as queue_keys
from ..queues._sync import Queue
from ..queues.handle._sync import TaskHandle
from ..queues.producer._sync import Producer
from ..queues.registry import TaskRegistry
from ..queues.task import Call, checked_call, checked_capacity
from ..queues.worker.plan import Plan
from ..queues.worker.worker import Worker

R = TypeVar("R")

DEFAULT_NAMESPACE = "holdfast"


class Holdfast:
    """Application building blocks on one Valkey or Redis.

    It opens connections of its own, like those of the client it is given, and closes only these.
    One object serves a whole application: all its threads, or all tasks of its event loop. After a
    fork it starts afresh in the child.

    Args:
        redis: a redis-py client of yours: `Redis`, `RedisCluster` or a Sentinel's primary, of
            either half. Only its settings are used; its `socket_timeout` bounds every call.
        namespace: keeps this application's data apart from others' on the same server.
    """

    def __init__(
        self,
        redis: Client,
        *,
        namespace: str = DEFAULT_NAMESPACE,
    ) -> None:
        self._begin(Settings.of(redis), namespace)

    @classmethod
    def from_url(cls, url: str, *, namespace: str = DEFAULT_NAMESPACE) -> Self:
        """A client for a URL: `redis rediss unix redis+sentinel redis+cluster`.

        Args:
            url: such as `redis://localhost:6379/0`, `redis+sentinel://host:26379/mymaster` or
                `redis+cluster://host:7000,host:7001`. Several hosts are separated by commas.
            namespace: see the class.
        """
        self = cls.__new__(cls)
        self._begin(Settings.from_url(url), namespace)
        return self

    @classmethod
    def embedded(
        cls, folder: str | os.PathLike[str] | None = None, *, namespace: str = DEFAULT_NAMESPACE
    ) -> Self:
        """A client with a Valkey server of its own, from the extra `server`.

        Args:
            folder: keeps the data, and is shared by all processes that open it; the last one out
                stops the server. None makes a private, temporary one.
            namespace: see the class.

        Raises:
            ServerNotFound: there is no server binary; the message says what to install.
            ServerFailed: the server did not start.
        """
        from ..server import EmbeddedServer

        Namespace.of(namespace)  # a wrong one must not leave a server behind
        server = EmbeddedServer.open(folder)
        self = cls.from_url(server.url, namespace=namespace)
        self._opened.callback(server.close)
        return self

    def _begin(self, settings: Settings, namespace: str) -> None:
        self._settings = settings
        self._namespace = Namespace.of(namespace)
        self._caller = Caller(settings)
        self._catalog = Catalog(self._caller, self._namespace)
        self._bell = Bell(settings)
        self._producer = Producer(self._caller, self._bell, self._catalog, self._namespace)
        self._opened = ExitStack()

    @property
    def namespace(self) -> str:
        """The namespace, as it was given."""
        return self._namespace.name

    def close(self) -> None:
        """Close what this client opened. Idempotent."""
        in_thread(self._bell.close)
        self._caller.close()
        in_thread(self._opened.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # Task queues

    def queue(self, name: str, *, capacity: int | None = None) -> Queue:
        """The task queue called *name*.

        Args:
            name: of the queue.
            capacity: how many tasks may wait in it, ready and delayed. The server keeps it: the
                first one to enqueue after this sets it, and `DefinitionConflict` tells whoever says
                otherwise later. By default what the server has, at first no limit.
        """
        if checked_capacity(capacity) is not None:
            self._producer.define(name, capacity)
        return Queue(self._caller, self._bell, self._catalog, self._producer, self._namespace, name)

    def queues(self) -> list[str]:
        """Names of the task queues, at most 1,000, the latest used first."""
        return self._catalog.names(queue_keys.KIND)

    def enqueue(self, call: Call[R], *, op_id: str | None = None) -> TaskHandle[R]:
        """Put one task in line, in the queue that it names.

        Args:
            call: made by `task.call(…)`.
            op_id: names this operation, so that doing it again changes nothing (`OutcomeUnknown`).

        Raises:
            ServerUnavailable: it is not stored.
            QueueAtCapacity: it is not stored: as many tasks wait as may.
            OutcomeUnknown: perhaps it is; `repeat()` stores it exactly once.
            PayloadTooLarge: its arguments are over the limit.
        """
        return self._producer.enqueue(checked_call(call), op_id)

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
            OutcomeUnknown: some are, perhaps; `repeat()` stores the rest, each exactly once.
            PayloadTooLarge: the arguments of one are over the limit; none is stored.
        """
        if isinstance(calls, Call):
            raise TypeError("enqueue_many takes several calls; for a single one use enqueue")
        return self._producer.enqueue_many([checked_call(call) for call in calls], op_id)

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
        plan = Plan.checked(
            self._namespace,
            tasks,
            queues=queues,
            concurrency=concurrency,
            lease=lease,
            grace=grace,
            unknown_timeout=unknown_timeout,
        )
        return Worker(self._settings, plan)
