# Generated from _async/relay.py by tools/unasync.py: edit that, then run `make sync`.
"""The relay: it enqueues the tasks of an outbox, in the order of their rows."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from ...core.checks import checked_int
from ...core.clock import Deadline, backoff_s
from ...core.concurrency._sync.background_task import BackgroundTask
from ...core.concurrency._sync.primitives import Event
from ...core.lifetime import Lifetime
from ...errors import DecodeError, OutcomeUnknown, QueueAtCapacity, ServerUnavailable, TaskExists
from ...errors.one_line_logger import logger_of
from ...queues._sync.producer import Producer
from ...queues.call import several_task_ids
from ...queues.partitions.layout import PartOfQueue
from ..batch import OutboxBatch
from ..database import database_errors, first_line
from ..held_queues import HeldQueues
from ..outbox import Outbox
from ..row import OutboxRow, OutboxStatus
from ..sent import Sent
from ..table import FAILED, WAITING
from .commit_listener import CommitListener
from .rows import OutboxRows

logger: Final = logger_of("holdfast.outbox")

_POLL_S: Final = 0.2
_LISTENING_POLL_S: Final = 1.0
"""Seconds until an idle relay reads the table again: without and with notifications of PostgreSQL.
Such a read looks up one entry of an index."""

LISTED: Final = 1000
"""Maximum number of rows in one list."""

_FIRST_PAUSE_S: Final = 0.25
_LONGEST_PAUSE_S: Final = 15.0
"""First and longest pause in seconds between attempts while the database fails."""


class OutboxRelay:
    """Move the tasks of an outbox to their queues. Any number of relays share the work.

    - Each queue gets its tasks in the order of their rows. One relay at a time works for a queue.
    - A row is deleted after its task was enqueued. If the relay is killed between the two, the next
      relay enqueues the same batch with the same id. The server remembers the id for an hour at
      least, and enqueues a batch with this id only once.
    - While a queue is full or its server does not answer, its rows wait; other queues go on.
    - A row that can never be enqueued is set aside: see `failed`.

    Made by `Holdfast.outbox_relay`.
    """

    def __init__(self, producer: Producer, lifetime: Lifetime, outbox: Outbox, engine: Any) -> None:
        self._producer = producer
        self._lifetime = lifetime
        self._outbox = outbox
        self._rows = OutboxRows(outbox, engine)
        self._engine = engine
        self._held = HeldQueues()
        self._flag: Event | None = None  # not None while `run` runs
        self._stopped = False
        self._failures = 0

    def __repr__(self) -> str:
        return f"OutboxRelay({self._outbox.table.fullname!r})"

    def run(self, *, until_idle: bool = False) -> None:
        """Enqueue tasks until `stop`. Continue after failures of the database and of the server.

        Args:
            until_idle: whether to return once no row waits.

        Raises:
            ValueError: the database has no table for the outbox.
        """
        if self._flag is not None:
            raise RuntimeError(f"{self!r} already runs")
        self._flag = flag = Event()
        listener = CommitListener(self._engine, flag)
        listening = BackgroundTask(listener.run) if self._rows.listens else None
        try:
            with self._lifetime.set_on_close(flag):
                self._run(flag, until_idle=until_idle)
        finally:
            listener.stop()
            if listening is not None:
                listening.end()
            self._flag, self._stopped = None, False

    def stop(self) -> None:
        """Let `run` finish its batch and return. Any thread or signal handler may call it."""
        self._stopped = True
        if (flag := self._flag) is not None:
            flag.set_from_handler()

    def step(self) -> int:
        """Enqueue the next batch of each queue. Return how many tasks were enqueued."""
        moved = 0
        for queue in self._rows.queues():
            if self._held.may_send(queue) and not self._stopped:
                moved += self._send(queue)
        return moved

    def status(self) -> OutboxStatus:
        """Return how many rows wait, how many have failed, and when the oldest was written."""
        return self._rows.status()

    def waiting(self, *, limit: int = 100) -> list[OutboxRow]:
        """Return rows that wait, the oldest first; at most *limit*, up to 1,000."""
        return self._rows.listed(WAITING, checked_int(limit, "limit", 1, LISTED))

    def failed(self, *, limit: int = 100) -> list[OutboxRow]:
        """Return rows that can never be enqueued, with the reason; see `waiting`."""
        return self._rows.listed(FAILED, checked_int(limit, "limit", 1, LISTED))

    def retry(self, task_ids: Sequence[str]) -> int:
        """Let failed rows wait again. Return how many of the tasks had failed."""
        return self._rows.retry(several_task_ids(task_ids))

    def discard(self, task_ids: Sequence[str]) -> int:
        """Delete failed rows: their tasks never run. Return how many of the tasks had failed."""
        return self._rows.discard(several_task_ids(task_ids))

    def _run(self, flag: Event, *, until_idle: bool) -> None:
        poll_s = _LISTENING_POLL_S if self._rows.listens else _POLL_S
        while not (self._stopped or self._lifetime.closed):
            flag.clear()
            try:
                moved = self.step()
                if not moved and until_idle and not (self.status()).waiting:
                    return
            except database_errors() as error:
                self._rows.check_table()
                self._pause(flag, first_line(error))
                continue
            if self._failures:
                logger.warning("the outbox in %s is relayed again", self._rows.dialect)
                self._failures = 0
            if not moved and not self._stopped:
                flag.wait(self._held.wait_s(poll_s))

    def _send(self, queue: str) -> int:
        """Enqueue the next batch of *queue*. Return how many tasks were enqueued."""
        try:
            if self._rows.locks_database:  # applications must not wait for a server that is away
                self._producer.layouts.read(queue)
            sent = self._rows.send_batch(queue, self._held.most(queue), self._enqueue)
        except (ServerUnavailable, OutcomeUnknown, DecodeError) as error:
            self._held.failed(queue, str(error))
            return 0
        if sent.is_full:
            self._held.full(queue)
        elif sent.seqs:
            self._held.sent(queue)
        elif sent.refused:
            logger.error("a task of queue %r can never be enqueued: %s", queue, sent.refused)
        return len(sent.seqs)

    def _enqueue(self, batch: OutboxBatch) -> Sent:
        try:
            positions = self._producer.enqueue_batch(batch.sent, batch.name)
        except QueueAtCapacity:
            return Sent(is_full=True)
        except (TaskExists, PartOfQueue) as error:
            return Sent(refused=str(error))
        seqs = [batch.seqs[position] for position in positions]
        return Sent(seqs, is_full=len(seqs) < len(batch.seqs))

    def _pause(self, flag: Event, why: str) -> None:
        """Wait after a failure of the database, longer after each one."""
        self._failures += 1
        level = logging.WARNING if self._failures == 1 else logging.DEBUG
        logger.log(level, "the outbox in %s is not relayed: %s", self._rows.dialect, why)
        over = Deadline(backoff_s(self._failures, _FIRST_PAUSE_S, _LONGEST_PAUSE_S))
        while not (over.passed or self._stopped or self._lifetime.closed):
            flag.clear()
            if not self._stopped:
                flag.wait(over.left_s())
