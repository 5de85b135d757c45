"""The events of one attempt on their way to the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .claim import Claim
    from .event_buffer import EventBuffer


class EventSink(Protocol):
    """Takes the events of the attempts of a worker: its sender, or the link of a child process."""

    def add(self, attempt: AttemptEvents, kind: bytes, data: bytes) -> None:
        """Take an event, from any thread. It may wait for room, at most about a round trip.

        Args:
            attempt: the attempt that reports it.
            kind: the letter of its kind.
            data: its content as JSON.
        """

    async def wait_for_room(self, attempt: AttemptEvents) -> None:
        """Wait until *attempt* may report more, at most about a round trip."""


class AttemptEvents:
    """Where one attempt of a task reports its events, from any thread.

    Attributes:
        claim: the claim of the attempt.
        is_over: whether the attempt has ended.
        buffer: the events that the server does not have yet; None: there was no event. Only the
            sink uses it.
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
