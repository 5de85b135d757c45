"""Rooms: what a process keeps open for a unit while somebody is in there, and for a while longer.

Who waited once tends to wait again, and opening a room costs a subscription.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from .concurrency._sync.waiting import Mutex
from .names import Unit


class Room(Protocol):
    """What can be empty, opened once and closed once."""

    @property
    def empty(self) -> bool:
        """Whether nobody is in there."""

    def open(self) -> None:
        """Begin; somebody is in there."""

    def close(self) -> None:
        """Let it go."""


R = TypeVar("R", bound=Room)


class SubscriptionCache(Generic[R]):
    """The rooms of one process, by unit. For all threads.

    Args:
        made: makes the room of a unit, not yet open.
        idle: how many empty ones stay open.
    """

    def __init__(self, made: Callable[[Unit], R], idle: int) -> None:
        self._made = made
        self._most_idle = idle
        self._rooms: dict[Unit, R] = {}
        self._idle: dict[Unit, None] = {}  # the one that has been empty for longest is first
        self._guard = Mutex()

    def find(self, unit: Unit) -> R | None:
        """The room of *unit*, if it is open."""
        return self._rooms.get(unit) if self._rooms else None

    def enter(self, unit: Unit, come: Callable[[R], None]) -> R:
        """Open the room of *unit* unless it is, and *come* in."""
        with self._guard:
            room = self._rooms.get(unit)
            if room is None:
                room = self._opened(unit, come)
            else:
                self._idle.pop(unit, None)
                come(room)
            return room

    def _opened(self, unit: Unit, come: Callable[[R], None]) -> R:
        """Open a new room and keep it, once it is open; what was interrupted is closed again."""
        room = self._made(unit)
        try:
            come(room)
            room.open()
            self._rooms[unit] = room
        except BaseException:
            self._rooms.pop(unit, None)
            room.close()
            raise
        return room

    def leave(self, unit: Unit, go: Callable[[R], None]) -> None:
        """*go* out; if there are too many empty rooms then, the longest empty one is closed."""
        with self._guard:
            room = self._rooms.get(unit)
            if room is None:
                return
            go(room)
            if not room.empty:
                return
            self._idle[unit] = None
            if len(self._idle) > self._most_idle:
                oldest = next(iter(self._idle))
                del self._idle[oldest]
                self._rooms.pop(oldest).close()

    def close(self) -> None:
        """Close all of them, whoever is in there."""
        with self._guard:
            rooms, self._rooms, self._idle = self._rooms, {}, {}
            for room in rooms.values():
                room.close()
