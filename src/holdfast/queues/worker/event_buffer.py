"""A bounded buffer of the events of one attempt that the server does not have yet."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Final

from ...core.concurrency._sync.primitives import Event

MOST_EVENTS: Final = 1000
MOST_BYTES: Final = 1 << 20
"""Maximum number of events of a task that the server keeps, and their bytes; also for a buffer."""


class EventBuffer:
    """The events of one attempt, in order, each as a letter and its JSON.

    Any thread may add events. Only the loop of the worker takes them.

    Attributes:
        in_flight: number of events that are being sent.
        was_sent: whether the server may have events of this attempt.
        is_refused: whether the server refuses the events, because the claim has ended.
        is_listed: whether the sender knows that there are events to send.
        room: set when events were taken.
    """

    __slots__ = (
        "_added_bytes",
        "_dropped",
        "_events",
        "_progress",
        "_reported",
        "_taken_bytes",
        "in_flight",
        "is_listed",
        "is_refused",
        "room",
        "was_sent",
    )

    def __init__(self) -> None:
        self.in_flight: int = 0
        self.was_sent: bool = False
        self.is_refused: bool = False
        self.is_listed: bool = False
        self.room: Event = Event()
        self._events: deque[bytes] = deque()
        self._progress: deque[bytes] = deque(maxlen=1)
        self._added_bytes = self._taken_bytes = 0
        self._dropped = self._reported = 0

    def __len__(self) -> int:
        return len(self._events)

    @property
    def is_full(self) -> bool:
        """Return whether there are more events, or bytes, than the server would keep.

        If several threads change the buffer at one instant, its bytes may be counted wrong until it
        was empty. They are counted again before the buffer is called full. If too few were counted,
        it may exceed `MOST_BYTES`, but not `MOST_EVENTS`.
        """
        if len(self._events) > MOST_EVENTS:
            return True
        size = self._added_bytes - self._taken_bytes
        return size > MOST_BYTES and self._size() > MOST_BYTES

    @property
    def is_settled(self) -> bool:
        """Return whether the server has all events, or refuses them."""
        return not self._events and not self.in_flight

    def append(self, event: bytes) -> None:
        """Add an event, from any thread."""
        self._events.append(event)
        self._added_bytes += len(event)

    def set_progress(self, progress: bytes) -> None:
        """Set the latest progress that the server does not have, as JSON, from any thread.

        Add its event after that.
        """
        self._progress.append(progress)

    def take_progress(self) -> bytes:
        """Return the progress, and forget it; empty if none. Take its event before that."""
        try:
            return self._progress.pop()
        except IndexError:
            return b""

    def drop_oldest(self) -> None:
        """Drop the oldest events until the buffer is within its limits.

        Readers see a gap in the numbers of the events.
        """
        while self.is_full and self._pop() is not None:
            self._dropped += 1

    def take_dropped(self) -> int:
        """Return how many events were dropped since the last call.

        The server is sent this number, so that it leaves a gap in the numbers of the events.
        """
        dropped = self._dropped - self._reported
        self._reported += dropped
        return dropped

    def lose(self, count: int) -> None:
        """Note that *count* events, which were taken, do not reach the server.

        `take_dropped` counts them as dropped.
        """
        self._reported -= count

    def take(self, most: int, most_bytes: int) -> list[bytes]:
        """Return the next events, at most *most*. Stop once they have *most_bytes* or more."""
        taken: list[bytes] = []
        size = 0
        while len(taken) < most and size < most_bytes and (event := self._pop()) is not None:
            taken.append(event)
            size += len(event)
        if not self._events:
            self._added_bytes = self._taken_bytes = 0
        return taken

    def clear(self) -> None:
        """Forget all events."""
        self._events.clear()
        self._progress.clear()
        self.room.set()

    def _size(self) -> int:
        while True:
            with suppress(RuntimeError):  # Another thread has changed the buffer: count again.
                return sum(map(len, self._events))

    def _pop(self) -> bytes | None:
        try:
            event = self._events.popleft()
        except IndexError:
            return None
        self._taken_bytes += len(event)
        return event
