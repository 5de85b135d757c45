"""Sessions of consumers: a consumer holds its files as long as its session is alive."""

from __future__ import annotations

import os
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from ...core.clock import Deadline, since_boot
from ...core.concurrency._async.primitives import AutoResetEvent
from ...core.ledger import new_writer
from ...core.notifier import RECHECK_S
from ...core.renewer import Lease
from ...core.script import Script
from ...core.stored import decoding
from ...errors import FilesFailed, FilesMissed, HoldfastError, UnknownConsumer
from .. import keys
from ..assignment import Assignment
from ..options import DEFAULT_LEASE_S
from .feed_store import AsyncFeedStore

CLAIM: Final = Script.load("holdfast.files", "claim")
END_SESSION: Final = Script.load("holdfast.files", "end_session")
RENEW: Final = Script.load("holdfast.files", "renew")

SMALL_CHUNK_BYTES: Final = 32 << 10
"""Bytes of the only chunk of a file that comes with its claim."""

LOOK_S: Final = 5.0
"""Seconds between two claims of a waiting consumer, in case a notification was lost."""


class _NoFile(NamedTuple):
    """Describe why there is no file now.

    Attributes:
        free_in_ms: milliseconds until one may be free; None if no consumer holds one.
        failed: how many failed too often.
        state: state of the feed; empty if the feed does not exist.
    """

    free_in_ms: int | None
    failed: int
    state: bytes

    def and_then(self, other: _NoFile) -> _NoFile:
        """Combine this with *other*, the result for the files that follow."""
        free = [each for each in (self.free_in_ms, other.free_in_ms) if each is not None]
        return _NoFile(min(free, default=None), self.failed + other.failed, other.state)

    @property
    def is_final(self) -> bool:
        """Return whether all files that are left failed too often."""
        return self.state == b"sealed" and self.failed > 0 and self.free_in_ms is None


class AsyncSession:
    """Hold the files of one run of a consumer through the feed.

    The lease of each file is renewed separately. So a file that could not be given back, or that
    only the server assigns to this session, is free for others after a lease.

    Attributes:
        asked_at: time of the last claim, by `since_boot`, before it was sent.

    Args:
        desk: calls about the feed.
        consumer: name of the consumer.
    """

    def __init__(self, store: AsyncFeedStore, consumer: str) -> None:
        self.id: Final = (new_writer() + consumer).encode()
        self.epoch = b""
        self._store = store
        self._consumer = consumer
        self._claim_number = 0
        self._pid = os.getpid()
        self._lease: Lease | None = None
        self._lease_ms = round(DEFAULT_LEASE_S * 1000)
        self._in_use: WeakSet[object] = WeakSet()
        self.asked_at = 0.0
        self._closed = False

    def __del__(self) -> None:
        # A session that was interrupted within `close` must not keep the consumer alive.
        if self._lease is not None:
            self._store.renewer.drop(self._lease)

    async def next(self, deadline: Deadline) -> Assignment | None:
        """Return the next file; None at the end, or if none comes in time.

        Raises:
            FilesMissed, FilesFailed, FeedAborted, FeedLost, UnknownConsumer, FeedCrowded,
            DefinitionConflict.
        """
        reply: Any = await self._claim()
        while isinstance(reply, _NoFile) and not deadline.passed and not reply.is_final:
            reply = await self._wait_for_change(deadline)
        if isinstance(reply, _NoFile):
            if reply.is_final:
                raise FilesFailed(self._store.name, self._consumer, reply.failed)
            return None
        match reply[0]:
            case b"file":
                with decoding(keys.files(self._store.unit)):
                    return Assignment.of(self.id, reply)
            case b"missed":
                await self._end(int(reply[1]))
                raise FilesMissed(self._store.name, self._consumer, int(reply[1]))
            case b"unknown_consumer":
                raise UnknownConsumer(self._store.name, self._consumer)
            case verdict if verdict != b"end":
                self._store.refuse(reply)
        return None

    async def live(self) -> None:
        """Keep the lease of the session renewed."""
        if self._lease is None or self._lease.lost:
            definition = self._store.options or await self._store.definition()
            if definition is not None:
                self._lease_ms = definition.lease_ms
            self._lease = self._new_lease(self.id, 0, since_boot())
            self._store.renewer.keep(self._lease)

    def hold(self, assignment: Assignment, asked_at: float) -> Lease:
        """Return a new lease of a file, for the renewer.

        Args:
            grant: the file.
            asked_at: time of the claim, by `since_boot`, before it was sent.
        """
        return self._new_lease(assignment.member, assignment.token, asked_at)

    def _new_lease(self, member: bytes, token: int, asked_at: float) -> Lease:
        unit = self._store.unit
        return Lease(
            unit, RENEW, RENEW.keys(unit), member, token, self._lease_ms, asked_at, _ignore
        )

    def enter(self, file: object) -> None:
        """Note that a *file* of this session is in use."""
        self._in_use.add(file)

    async def exit(self, file: object) -> None:
        """Note that a *file* is in use no longer."""
        self._in_use.discard(file)
        if self._closed:
            await self.close()

    async def close(self) -> bool:
        """End the session unless a file of it is in use: what it holds is free for others.

        Returns:
            Whether the server confirmed it.
        """
        self._closed = True
        if self._in_use:
            return False
        if self._lease is not None:
            self._store.renewer.drop(self._lease)
        if not self.epoch or self._pid != os.getpid():
            return False
        try:
            await self._end(0)
        except HoldfastError:
            return False  # its lease ends by itself
        return True

    async def _end(self, told: int) -> None:
        args = (self.epoch, self.id, told, self._store.channel)
        await self._store.call(END_SESSION, *args, durable=False)

    async def _claim(self) -> Any:
        """Ask the server for a file, and return its answer."""
        self._claim_number += 1
        self.asked_at = since_boot()
        start, nothing = 0, _NoFile(None, 0, b"")
        while True:
            reply = await self._store.call(
                CLAIM,
                self._store.packed_options if not self.epoch else b"",
                self.epoch,
                self.id,
                self._claim_number,
                SMALL_CHUNK_BYTES,
                start,
                durable=False,  # only a lease
            )
            if reply[0] in (b"file", b"wait", b"more"):
                self.epoch = reply[1]
                await self.live()
            elif reply[0] == b"undefined":
                return nothing
            if reply[0] not in (b"more", b"wait"):
                return reply
            free_in_ms = int(reply[2]) if reply[2] else None
            nothing = nothing.and_then(_NoFile(free_in_ms, int(reply[3]), reply[4]))
            if reply[0] == b"wait":
                return nothing
            start = int(reply[5])

    async def _wait_for_change(self, deadline: Deadline) -> Any:
        """Wait for a change, then return the answer to the next claim."""
        flag = AutoResetEvent()
        with self._store.notifier.follow([self._store.unit], flag):
            while True:
                again = await self._claim()  # the change may be older than the subscription
                if not isinstance(again, _NoFile) or again.is_final or deadline.passed:
                    return again
                free_s = LOOK_S if again.free_in_ms is None else again.free_in_ms / 1000
                look_s = LOOK_S if self.epoch else RECHECK_S
                await flag.wait(min(free_s + 0.01, look_s, deadline.left_s()))


def _ignore() -> None:
    """Do nothing: the next call of a file that was lost raises `FileTaken`."""
