"""The queues that accept no tasks at the moment, and how large their next batch is."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import Final

from ..core.clock import backoff_s
from ..errors.one_line_logger import logger_of
from ..queues.enqueue_batch import BATCH_TASKS

logger: Final = logger_of("holdfast.outbox")

_FIRST_S: Final = 0.1
_LONGEST_S: Final = 5.0
"""First and longest pause in seconds until a relay tries a queue again."""


@dataclass(slots=True)
class _Held:
    most: int = BATCH_TASKS
    failures: int = 0
    until: float = 0.0


class HeldQueues:
    """Remember, for one relay, the queues that did not accept their last batch.

    A queue is *held* for a while after a failure: the relay sends no batch to it. The pauses grow.
    """

    def __init__(self) -> None:
        self._by_queue: dict[str, _Held] = {}

    def may_send(self, queue: str) -> bool:
        """Return whether it is time to send a batch to *queue*."""
        held = self._by_queue.get(queue)
        return held is None or held.until <= monotonic()

    def most(self, queue: str) -> int:
        """Return how many tasks the next batch of *queue* has at most."""
        held = self._by_queue.get(queue)
        return BATCH_TASKS if held is None else held.most

    def full(self, queue: str) -> None:
        """Make the next batch of a full queue smaller. If it is the smallest, hold the queue."""
        held = self._by_queue.setdefault(queue, _Held())
        if held.most > 1:
            held.most //= 2
            return
        if not held.failures:
            logger.warning("queue %r is full: its rows wait in the outbox", queue)
        self._hold(held)

    def failed(self, queue: str, why: str) -> None:
        """Hold *queue*, because its batch could not be sent. Log *why*, but only the first time."""
        held = self._by_queue.setdefault(queue, _Held())
        if not held.failures:
            logger.warning("the outbox cannot enqueue tasks in queue %r: %s", queue, why)
        self._hold(held)

    def sent(self, queue: str) -> None:
        """Release *queue*, which accepted a batch. The next batch may be twice as large."""
        held = self._by_queue.get(queue)
        if held is None:
            return
        if held.failures:
            logger.warning("the outbox enqueues tasks in queue %r again", queue)
        held.most, held.failures, held.until = held.most * 2, 0, 0.0
        if held.most >= BATCH_TASKS:
            del self._by_queue[queue]

    def wait_s(self, longest_s: float) -> float:
        """Return the seconds until the first held queue may be tried again; at most *longest_s*."""
        now = monotonic()
        ends = [held.until - now for held in self._by_queue.values() if held.until > now]
        return min([longest_s, *ends])

    def _hold(self, held: _Held) -> None:
        held.failures += 1
        held.until = monotonic() + backoff_s(held.failures, _FIRST_S, _LONGEST_S)
