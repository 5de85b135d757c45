# Generated from _async/reader.py by tools/unasync.py: edit that, then run `make sync`.
"""Reading with a timeout: what mailboxes and inboxes have in common."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from ...core.checks import checked_int
from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._sync.primitives import AutoResetEvent
from ...core.names import Unit
from ...core.notifier import RECHECK_S
from ...core.telemetry import during
from ...errors import ServerUnavailable
from ..message import Batch, Position, traces_of
from ..options import MAX_LIMIT
from ..seen_positions import SeenPositions
from .messaging import Messaging

POLL_S: Final = 300.0
"""Seconds, on average, after which a waiting reader reads without a notification. It is long: a
subscription loses nothing while its connection lives, and 10,000 readers may wait in a process."""


class Reader(ABC):
    """Waits for new messages: the base of `Mailbox` and `Inbox`."""

    def __init__(self, messaging: Messaging, unit: Unit) -> None:
        self._messaging = messaging
        self._unit = unit
        self._seen = SeenPositions()

    def _fetch(
        self, limit: int, timeout: Duration | None, after: Mapping[str, Position]
    ) -> list[Batch]:
        """Return the new messages. Wait until there are any, or until *timeout*.

        Args:
            limit: messages at most.
            timeout: seconds (or a timedelta); None: wait forever.
            after: the positions of the device, for the mailboxes or chats for which it gave one.
        """
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        deadline = Deadline(to_timeout_s(timeout))
        with during(self._messaging.caller.settings.telemetry, "receive", self._unit) as receiving:
            if deadline.passed:
                batches, _ = self._read(limit, after)
            else:
                batches, units = self._read_limited(limit, after)
                while not any(batches) and not deadline.passed:
                    batches, units = self._follow(units, limit, deadline, after)
            count = sum(len(batch.messages) for batch in batches)
            receiving.received(count, traces_of(batches))
        return batches

    def _follow(
        self,
        units: frozenset[Unit],
        limit: int,
        deadline: Deadline,
        after: Mapping[str, Position],
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """Wait until *units* have new messages, other units must be followed, or *deadline*."""
        notified = AutoResetEvent()
        give_up: Deadline | None = None
        with self._messaging.notifier.follow(units, notified):
            while True:
                pause_s = POLL_S * random.uniform(0.75, 1.25)
                try:
                    batches, now = self._read_limited(limit, after)
                    if any(batches) or now != units or deadline.passed:
                        return batches, now
                    give_up = None
                except ServerUnavailable:  # a waiting reader can try again
                    give_up = give_up or Deadline(self._messaging.caller.settings.timeout_s)
                    if give_up.passed or deadline.passed:
                        raise
                    pause_s = RECHECK_S * random.uniform(0.25, 1.0)
                notified.wait(min(pause_s, deadline.left_s()))

    def _read_limited(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """Read as one of many waiting readers, which may all be notified at once."""
        with self._messaging.caller.read_limiter:
            return self._read(limit, after)

    @abstractmethod
    def _read(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """Return the new messages, and the units that may get more."""
