"""Wait for new messages: the common base of mailboxes and inboxes."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from ...core.checks import checked_int
from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._async.primitives import AutoResetEvent
from ...core.names import Unit
from ...core.notifier import RECHECK_S
from ...core.telemetry import during
from ...errors import ServerUnavailable
from ..message import Batch, Position, traces_of
from ..options import MAX_LIMIT
from ..seen_positions import SeenPositions
from .messaging import AsyncMessaging

POLL_S: Final = 300.0
"""Average seconds after which a waiting reader reads without a notification.

The time may be long, because a subscription loses no notification while its connection exists. It
should be long, because 10,000 readers may wait in one process, and each read costs a call."""


class AsyncMessageReader(ABC):
    """Wait for new messages. `AsyncMailbox` and `AsyncInbox` inherit from this class."""

    def __init__(self, messaging: AsyncMessaging, unit: Unit) -> None:
        self._messaging = messaging
        self._unit = unit
        self._seen = SeenPositions()

    async def _fetch(
        self, limit: int, timeout: Duration | None, after: Mapping[str, Position]
    ) -> list[Batch]:
        """Return the new messages. Wait until there are any, but at most *timeout*.

        Args:
            limit: maximum number of messages.
            timeout: seconds (or a timedelta); None: no limit.
            after: mailbox or chat → position of the last message that the caller's device has, as
                the user gave it to `fetch`; empty: return all messages that are not acknowledged.
        """
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        deadline = Deadline(to_timeout_s(timeout))
        with during(self._messaging.caller.settings.telemetry, "receive", self._unit) as receiving:
            if deadline.passed:
                batches, _ = await self._read(limit, after)
            else:
                batches, units = await self._read_limited(limit, after)
                while not any(batches) and not deadline.passed:
                    batches, units = await self._follow(units, limit, deadline, after)
            count = sum(len(batch.messages) for batch in batches)
            receiving.received(count, traces_of(batches))
        return batches

    async def _follow(
        self,
        units: frozenset[Unit],
        limit: int,
        deadline: Deadline,
        after: Mapping[str, Position],
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """Follow *units* until there are new messages, other units to follow, or *deadline* has
        passed. Return what the last `_read` returned."""
        notified = AutoResetEvent()
        give_up: Deadline | None = None
        with self._messaging.notifier.follow(units, notified):
            while True:
                pause_s = POLL_S * random.uniform(0.75, 1.25)
                try:
                    batches, now = await self._read_limited(limit, after)
                    if any(batches) or now != units or deadline.passed:
                        return batches, now
                    give_up = None
                except ServerUnavailable:  # try again, at most for the client's timeout
                    give_up = give_up or Deadline(self._messaging.caller.settings.timeout_s)
                    if give_up.passed or deadline.passed:
                        raise
                    pause_s = RECHECK_S * random.uniform(0.25, 1.0)
                await notified.wait(min(pause_s, deadline.left_s()))

    async def _read_limited(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """Call `_read` under the read limiter, because one message may wake many readers."""
        async with self._messaging.caller.read_limiter:
            return await self._read(limit, after)

    @abstractmethod
    async def _read(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """Return the new messages, and the units to follow for more."""
