# Generated from _async/opening.py by tools/unasync.py: edit that, then run `make sync`.
"""What a client opens when it begins, and closes when it ends."""

from __future__ import annotations

import os
import warnings
import weakref
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from ...core._sync.caller import Caller
from ...core._sync.catalog import Catalog
from ...core._sync.session import CallSessions, hang_up
from ...core.codec import JSON, Codec
from ...core.concurrency._sync.waiting import at_construction, in_full, in_thread
from ...core.durability import Durability
from ...core.lifetime import Lifetime
from ...core.maxmemory import MaxmemoryCheck
from ...core.names import Namespace
from ...core.notifier import Notifier
from ...core.renewer import Renewer
from ...core.telemetry import Telemetry
from ...core.transport.settings import Client, Settings
from ...errors import HoldfastError
from ...errors.records import logger_of
from ..shared import shared

if TYPE_CHECKING:
    from ...counters._sync.buffer import CounterBuffer
    from ...locks._sync.listing import LockListing
    from ...locks.waiters import WaiterRegistry
    from ...messages._sync.messaging import Messaging
    from ...queues._sync.producer import Producer

logger: Final = logger_of("holdfast")

DEFAULT_NAMESPACE: Final = "holdfast"


class Opening:
    """Everything of a client but its blocks; see `Holdfast`."""

    def __init__(
        self,
        redis: Client,
        *,
        namespace: str = DEFAULT_NAMESPACE,
        codec: Codec = JSON,
        durability: Durability | None = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._begin(Settings.of(redis), namespace, codec, durability, telemetry)

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
        """A client for a URL: `redis rediss unix redis+sentinel redis+cluster`.

        Args:
            url: such as `redis://localhost:6379/0`, `redis+sentinel://host:26379/mymaster` or
                `redis+cluster://host:7000,host:7001`. Several hosts are separated by commas.
            namespace: see the class.
            codec: likewise.
            durability: likewise.
            telemetry: likewise.
        """
        self = cls.__new__(cls)
        self._begin(Settings.from_url(url), namespace, codec, durability, telemetry)
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
        """A client with a Valkey server of its own, from the extra `server`.

        Args:
            folder: keeps the data, and is shared by all processes that open it; the last one out
                stops the server. None makes a private, temporary one.
            namespace: see the class.
            codec: likewise.
            durability: likewise. What is in a folder is on disk without it, and there are no
                replicas.
            telemetry: likewise.

        Raises:
            ServerNotFound: there is no server binary; the message says what to install.
            ServerFailed: the server did not start.
        """
        from holdfast.server import EmbeddedServer

        Namespace.of(namespace)  # a wrong one must not start a server
        if durability is not None and durability.replicas:
            raise ValueError("an embedded server has no replicas: use durability=Fsynced()")
        server = EmbeddedServer.open(folder)
        try:
            self = cls.from_url(
                server.url,
                namespace=namespace,
                codec=codec,
                durability=durability,
                telemetry=telemetry,
            )
        except BaseException:
            server.close()
            raise
        self._opened.callback(server.close)
        return self

    def _begin(
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
        self._settings = settings = replace(settings, durability=durability, telemetry=telemetry)
        self._namespace = Namespace.of(namespace)
        self._codec = codec
        self._lifetime = Lifetime()
        self._caller = Caller(settings, self._lifetime)
        self._catalog = Catalog(self._caller, self._namespace)
        self._notifier = Notifier(settings, lifetime=self._lifetime)
        self._maxmemory_check = MaxmemoryCheck()
        self._renewer = Renewer(settings, self._namespace, self._maxmemory_check)
        self._buffers: set[CounterBuffer] = set()
        self._opened = ExitStack()
        # Every object that this client makes has the caller, so nothing is in use without it.
        parts = (settings, self._caller.sessions, self._renewer, self._notifier)
        self._abandoned = weakref.finalize(self._caller, _abandon, *parts)
        self._abandoned.atexit = False  # the end of the process closes everything
        at_construction(self._caller.check_durability)

    @shared
    def _waiters(self) -> WaiterRegistry:
        from holdfast.locks.waiters import WaiterRegistry

        return WaiterRegistry(self._notifier)

    @shared
    def _lock_listing(self) -> LockListing:
        from holdfast.locks._sync.listing import LockListing

        return LockListing(self._caller, self._catalog, self._namespace)

    @shared
    def _producer(self) -> Producer:
        from holdfast.queues._sync.producer import Producer

        return Producer(self._caller, self._notifier, self._catalog, self._namespace)

    @shared
    def _messaging(self) -> Messaging:
        from holdfast.messages._sync.messaging import Messaging

        return Messaging(self._caller, self._notifier, self._catalog, self._namespace)

    @property
    def namespace(self) -> str:
        """The namespace, as it was given."""
        return self._namespace.name

    def close(self) -> None:
        """Close what this client opened. Idempotent.

        Counts that are buffered are added first. From then on every call raises `ClientClosed`,
        also of objects that the client made before. Calls that wait in other threads or tasks end
        with it at once. Workers stop and give back what still runs. What is held is renewed no
        more: the holders see that it is lost, and it is free on the server when its lease ends.
        """
        in_full(self._end)  # the loss of a lease may cancel who closes

    def _end(self) -> None:
        self._close_buffers()
        self._lifetime.end()
        self._close_buffers()  # of which another thread has made one meanwhile
        in_thread(self._renewer.close)
        if "_waiters" in vars(self):  # somebody has used locks
            self._waiters.close()
        in_thread(self._notifier.close)
        self._caller.close()
        in_thread(self._opened.close)
        self._abandoned.detach()

    def _close_buffers(self) -> None:
        """Flush them, as far as the server lets itself be asked."""
        for buffer in list(self._buffers):  # each leaves them by itself, once it is closed
            try:
                buffer.close()
            except HoldfastError as error:
                logger.warning("counts are lost with their buffer: %s", error)

    def __enter__(self) -> Self:
        self._lifetime.check("entering its context")
        self._caller.check_durability()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _abandon(
    settings: Settings, sessions: CallSessions, renewer: Renewer, notifier: Notifier
) -> None:
    """Close what a client that was never closed has opened. The garbage collector calls this.

    It may interrupt any line of any thread, so nothing here takes a lock or waits.
    """
    parts = [hang_up(sessions), renewer.abandon(), notifier.abandon()]
    if any(parts):
        where = ", ".join(map(settings.where, settings.addresses))
        warnings.warn(
            f"a client of {where} was never closed: call close(), or use it in a `with` block",
            ResourceWarning,
            stacklevel=2,
        )
