"""The events of one attempt of a task, until the server has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .claim import Claim
    from .event_buffer import EventBuffer


class EventSink(Protocol):
    """Takes the events of attempts.

    In a worker it sends them to the server; in a child process it passes them to the worker.
    """

    def add(self, attempt: AttemptEvents, kind: bytes, data: bytes) -> None:
        """Take an event, from any thread. Wait if the buffer is full, at most about a round trip.

        Args:
            attempt: the attempt that reports the event.
            kind: the letter of the kind of event: `p` or `e` (see `keys.events`).
            data: the content of the event as JSON.
        """

    async def wait_for_room(self, attempt: AttemptEvents) -> None:
        """Wait until the buffer of *attempt* has room, at most about a round trip."""


class AttemptEvents:
    """Accepts the events of one attempt of a task, from any thread.

    Attributes:
        claim: the claim of the attempt.
        is_over: whether the attempt has ended.
        buffer: the events that the server does not have yet; None: there was no event. Only the
            `EventSink` uses this attribute.
    """

    __slots__ = ("_sink", "buffer", "claim", "is_over")

    def __init__(self, claim: Claim, sink: EventSink) -> None:
        self.claim: Claim = claim
        self.is_over: bool = False
        self.buffer: EventBuffer | None = None
        self._sink = sink

    def add(self, kind: bytes, data: bytes) -> None:
        """Report an event.

        Raises:
            RuntimeError: the attempt has ended.
        """
        if self.is_over:
            raise RuntimeError(
                f"task {self.claim.task_id!r} cannot report an event: this attempt has ended. "
                "Await or join what the task has started before it returns"
            )
        self._sink.add(self, kind, data)
