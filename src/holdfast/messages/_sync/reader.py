# Generated from _async/reader.py by tools/unasync.py: edit that, then run `make sync`.
"""One who reads, and waits for news."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
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

LOOK_S: Final = 300.0
"""About so often one who waits looks by itself. As long as the line holds it misses nothing, and
ten thousand who wait in one process must not keep it busy."""


class Reader(ABC):
    """What reading a mailbox and reading an inbox have in common."""

    def __init__(self, messaging: Messaging, unit: Unit) -> None:
        self._messaging = messaging
        self._unit = unit
        self._seen = SeenPositions()

    def _news(
        self, limit: int, timeout: Duration | None, after: Mapping[str, Position]
    ) -> list[Batch]:
        """What is new, beyond *after* where a device said what it has; waits for it."""
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        deadline = Deadline(to_timeout_s(timeout))
        with during(self._messaging.caller.settings.telemetry, "receive", self._unit) as receiving:
            batches = self._next(limit, deadline, after)
            count = sum(len(batch.messages) for batch in batches)
            receiving.received(count, traces_of(batches))
        return batches

    def _next(self, limit: int, deadline: Deadline, after: Mapping[str, Position]) -> list[Batch]:
        """What is new, or comes until the *deadline*."""
        if deadline.passed:
            batches, _ = self._look(limit, after)
            return batches
        batches, units = self._look_in_turn(limit, after)
        while not any(batches) and not deadline.passed:
            batches, units = self._follow(units, limit, deadline, after)
        return batches

    def _follow(
        self,
        units: frozenset[Unit],
        limit: int,
        deadline: Deadline,
        after: Mapping[str, Position],
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """Wait until something is new in *units*, others are to be followed, or no time is left."""
        flag = AutoResetEvent()
        trouble: Deadline | None = None
        with self._messaging.notifier.follow(units, flag):
            while True:
                pause_s = LOOK_S * random.uniform(0.75, 1.25)
                try:
                    batches, now = self._look_in_turn(limit, after)
                    if any(batches) or now != units or deadline.passed:
                        return batches, now
                    trouble = None
                except ServerUnavailable:  # who waits has time
                    trouble = trouble or Deadline(self._messaging.caller.settings.timeout_s)
                    if trouble.passed or deadline.passed:
                        raise
                    pause_s = RECHECK_S * random.uniform(0.25, 1.0)
                flag.wait(min(pause_s, deadline.left_s()))

    def _look_in_turn(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """Look as one of many who wait, and who may all be woken at once."""
        with self._messaging.caller.read_limiter:
            return self._look(limit, after)

    @abstractmethod
    def _look(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        """What is new now, and where something new may come from."""

    def _shown(self, batches: Iterable[Batch]) -> None:
        """Remember what is handed out."""
        for batch in batches:
            self._seen.note(batch.source, batch.position)
