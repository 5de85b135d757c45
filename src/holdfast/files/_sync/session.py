# Generated from _async/session.py by tools/unasync.py: edit that, then run `make sync`.
"""Hold the files of a consumer in a session, as long as its lease is renewed."""

from __future__ import annotations

import os
from typing import Any, Final, NamedTuple
from weakref import WeakSet

from ...core.clock import Deadline, since_boot
from ...core.concurrency._sync.primitives import AutoResetEvent
from ...core.ledger import new_writer
from ...core.notifier import RECHECK_S
from ...core.renewer import RenewedLease
from ...core.script import Script
from ...core.stored import decoding
from ...errors import FilesFailed, FilesMissed, HoldfastError, UnknownConsumer
from .. import keys
from ..assignment import Assignment
from ..options import DEFAULT_LEASE_S
from .feed_store import FeedStore

CLAIM: Final = Script.load("holdfast.files", "claim")
END_SESSION: Final = Script.load("holdfast.files", "end_session")
RENEW: Final = Script.load("holdfast.files", "renew")

SMALL_CHUNK_BYTES: Final = 32 << 10
"""Largest chunk, in bytes, that the reply to a claim contains if a file has only one chunk."""

POLL_S: Final = 5.0
"""Seconds between two claims of a waiting consumer, in case a notification was lost."""


class _NoFile(NamedTuple):
    """Describe why the consumer gets no file now.

    Attributes:
        free_in_ms: milliseconds until a file may become free; None if no file is held or paused.
        failed: number of files that failed too often.
        state: state of the feed; empty if the feed does not exist.
    """

    free_in_ms: int | None
    failed: int
    state: bytes

    def and_then(self, other: _NoFile) -> _NoFile:
        """Combine this result with *other*, the result for files with higher numbers."""
        free = [each for each in (self.free_in_ms, other.free_in_ms) if each is not None]
        return _NoFile(min(free, default=None), self.failed + other.failed, other.state)

    @property
    def is_final(self) -> bool:
        """Return whether all unfinished files of a sealed feed failed too often."""
        return self.state == b"sealed" and self.failed > 0 and self.free_in_ms is None


class Session:
    """Claim and hold files for one call of `Consumer.files`.

    The lease of each file is renewed separately from that of the session. So if giving back a file
    fails, or if the reply that assigned the file is lost, other sessions get it after its lease.

    Attributes:
        asked_at: time just before the latest claim was sent, by `since_boot`.

    Args:
        store: calls the server.
        consumer: name of the consumer.
    """

    def __init__(self, store: FeedStore, consumer: str) -> None:
        self.id: Final = (new_writer() + consumer).encode()
        self.epoch: Any = b""
        self._store = store
        self._consumer = consumer
        self._claim_number = 0
        self._pid = os.getpid()
        self._lease: RenewedLease | None = None
        self._lease_ms = round(DEFAULT_LEASE_S * 1000)
        self._in_use: WeakSet[object] = WeakSet()
        self.asked_at: float = 0.0
        self._closed = False

    def __del__(self) -> None:
        # Stop the renewal if `close` was interrupted, because otherwise the consumer would count
        # as alive.
        if self._lease is not None:
            self._store.renewer.drop(self._lease)

    def next(self, deadline: Deadline) -> Assignment | None:
        """Return the next file; None if the feed has ended or no file is free until *deadline*.

        Raises:
            FilesMissed, FilesFailed, FeedAborted, FeedLost, UnknownConsumer, FeedCrowded,
            DefinitionConflict.
        """
        reply: Any = self._claim()
        while isinstance(reply, _NoFile) and not deadline.passed and not reply.is_final:
            reply = self._wait_for_change(deadline)
        if isinstance(reply, _NoFile):
            if reply.is_final:
                raise FilesFailed(self._store.name, self._consumer, reply.failed)
            return None
        match reply[0]:
            case b"file":
                with decoding(keys.files(self._store.unit)):
                    return Assignment.of(self.id, reply)
            case b"missed":
                self._end(int(reply[1]))
                raise FilesMissed(self._store.name, self._consumer, int(reply[1]))
            case b"unknown_consumer":
                raise UnknownConsumer(self._store.name, self._consumer)
            case status if status != b"end":
                self._store.refuse(reply)
        return None

    def live(self) -> None:
        """Let the renewer renew the lease of the session, if it does not do so already."""
        if self._lease is None or self._lease.lost:
            definition = self._store.effective_options()
            if definition is not None:
                self._lease_ms = definition.lease_ms
            self._lease = self._new_lease(self.id, 0, since_boot())
            self._store.renewer.keep(self._lease)

    def hold(self, assignment: Assignment, asked_at: float) -> RenewedLease:
        """Return a new lease of a file, for the renewer.

        Args:
            assignment: the file.
            asked_at: time just before the call was sent that confirmed the lease, by `since_boot`.
        """
        return self._new_lease(assignment.member, assignment.token, asked_at)

    def _new_lease(self, member: bytes, token: int, asked_at: float) -> RenewedLease:
        unit = self._store.unit
        return RenewedLease(
            unit, RENEW, RENEW.keys(unit), member, token, self._lease_ms, asked_at, _ignore
        )

    @property
    def is_inherited(self) -> bool:
        """Return whether this process was forked from the one that holds the files."""
        return self._pid != os.getpid()

    def enter(self, file: object) -> None:
        """Register *file* as in use, so that the session stays open."""
        self._in_use.add(file)

    def exit(self, file: object) -> None:
        """Remove *file* from those in use. End the session if `close` was called before."""
        self._in_use.discard(file)
        if self._closed:
            self.close()

    def close(self) -> bool:
        """End the session, so that other sessions get its files; while a file is in use, end it
        later.

        Returns:
            True if the server confirmed the end.
        """
        self._closed = True
        if self._in_use:
            return False
        if self._lease is not None:
            self._store.renewer.drop(self._lease)
        if not self.epoch or self.is_inherited:
            return False
        try:
            self._end(0)
        except HoldfastError:
            return False  # the lease of the session ends by itself
        return True

    def _end(self, reported_missed: int) -> None:
        args = (self.epoch, self.id, reported_missed, self._store.channel)
        # Do not wait for durability: a session that is not ended ends with its lease.
        self._store.call(END_SESSION, *args, durable=False)

    def _claim(self) -> Any:
        """Claim a file. Return the server's reply, or `_NoFile`."""
        self._claim_number += 1
        self.asked_at = since_boot()
        start, nothing = 0, _NoFile(None, 0, b"")
        while True:
            reply = self._store.call(
                CLAIM,
                self._store.packed_options if not self.epoch else b"",
                self.epoch,
                self.id,
                self._claim_number,
                SMALL_CHUNK_BYTES,
                start,
                durable=False,  # if a failover loses the claim, only the lease of the file is lost
            )
            if reply[0] in (b"file", b"wait", b"more"):
                self.epoch = reply[1]
                self.live()
            elif reply[0] == b"undefined":
                return nothing
            if reply[0] not in (b"more", b"wait"):
                return reply
            free_in_ms = int(reply[2]) if reply[2] else None
            nothing = nothing.and_then(_NoFile(free_in_ms, int(reply[3]), reply[4]))
            if reply[0] == b"wait":
                return nothing
            start = int(reply[5])

    def _wait_for_change(self, deadline: Deadline) -> Any:
        """Wait until a claim returns something other than `_NoFile`, or *deadline* has passed."""
        flag = AutoResetEvent()
        with self._store.notifier.follow([self._store.unit], flag):
            while True:
                # Claim before the wait, because a change may be older than the subscription.
                reply = self._claim()
                if not isinstance(reply, _NoFile) or reply.is_final or deadline.passed:
                    return reply
                free_s = POLL_S if reply.free_in_ms is None else reply.free_in_ms / 1000
                poll_s = POLL_S if self.epoch else RECHECK_S
                flag.wait(min(free_s + 0.01, poll_s, deadline.left_s()))


def _ignore() -> None:
    """Do nothing when a lease is lost: the next call about the file raises `FileTaken`."""
