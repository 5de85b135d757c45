"""Where a process waits for places.

A process that waits for a unit has one room for it, and hears its bell there; all its waiters of
either half sit in that room. A room stays open for a while when the last waiter has left, because
who waited once tends to wait again, and opening it costs a subscription.

What a ring says is `id fence ends`: the place of *id* is given away if it does not answer before
the server's clock says *ends* (ms). A fence of 0 gives nothing: it says when to look again.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from typing import Final

from ..core.clock import since_boot
from ..core.concurrency.fork_hooks import register_after_fork
from ..core.lifetime import Flag
from ..core.names import Unit
from ..core.notifier import Notifier
from ..core.subscriptions import SubscriptionCache

LONGEST_ARRIVAL_S: Final = 5.0
"""An acquisition that has neither queued nor ended for longer does not delay later ones."""

IDLE_ROOMS: Final = 64
"""Rooms without a waiter that stay open, in a process."""


class Waiter:
    """One who waits. Filled from any thread, read by its owner after the flag went up.

    Attributes:
        flag: goes up when there is something new.
        grant: fence and end (server's ms) of a place that was handed over; taken by its owner.
        look_ms: when to look again (server's ms), as somebody else has said; 0 not said.
        stirred: something may have been missed, so look at once.
    """

    __slots__ = ("flag", "grant", "look_ms", "stirred")

    def __init__(self, flag: Flag) -> None:
        self.flag = flag
        self.grant: tuple[int, int] | None = None
        self.look_ms = 0
        self.stirred = False

    def tell(self, fence: int, ends_ms: int) -> None:
        """It has a place, or is to look at some moment."""
        if fence:
            self.grant = (fence, ends_ms)
        else:
            self.look_ms = ends_ms
        self.flag.set()

    def stir(self) -> None:
        """It may have missed something."""
        self.stirred = True
        self.flag.set()


class Room:
    """The waiters of this process for one unit. It is the flag of its own bell.

    Attributes:
        channel: where it is rung; empty until it is open.
        heard: whether its bell has ever been heard to work.
    """

    def __init__(self, notifier: Notifier, unit: Unit) -> None:
        self.channel = ""
        self.heard = False
        self._notifier = notifier
        self._unit = unit
        self._rung = False
        self._waiters: dict[bytes, Waiter] = {}
        self._stack = ExitStack()

    @property
    def empty(self) -> bool:
        """Whether nobody waits."""
        return not self._waiters

    def enter(self, member: str, waiter: Waiter) -> None:
        """From now on, what is said to *member* is told to *waiter*."""
        self._waiters[member.encode()] = waiter

    def leave(self, member: str) -> None:
        """The opposite."""
        self._waiters.pop(member.encode(), None)

    def hear(self, word: bytes) -> None:
        """What a ring says, or a reply that spares a ring."""
        member, _, rest = word.partition(b" ")
        waiter = self._waiters.get(member)
        fence, _, ends_ms = rest.partition(b" ")
        if waiter is not None and fence.isdigit() and ends_ms.isdigit():
            waiter.tell(int(fence), int(ends_ms))

    def set(self) -> None:
        """The bell rang, and what it said was heard; or rings may have been missed."""
        if self._rung:
            self._rung = False
        else:
            self.heard = True
            self.stir()

    def wake(self, member: str) -> None:
        """Wake the waiter of *member*, if it is there."""
        waiter = self._waiters.get(member.encode())
        if waiter is not None:
            waiter.flag.set()

    def stir(self) -> None:
        """Let everybody look."""
        for waiter in list(self._waiters.values()):
            waiter.stir()

    def open(self) -> None:
        """Hear what is rung."""
        ears = self._notifier.listen(self._unit, self, self._ring)
        self.channel = self._stack.enter_context(ears)

    def close(self) -> None:
        """Hear nothing any more."""
        self._stack.close()

    def _ring(self, word: bytes) -> None:
        self._rung = True  # `set` is next
        self.hear(word)


class WaiterRegistry:
    """The rooms of a client, and the names of its acquisitions; a forked child has its own.

    Args:
        bell: how rings are heard.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._inherited: list[SubscriptionCache[Room]] = []
        self._settle()
        register_after_fork(self)

    def name(self) -> str:
        """A new name for one acquisition: `host:process id:number`."""
        return f"{self._process}.{next(self._numbers)}"

    def arrive(self, unit: Unit, member: str, now: float) -> None:
        """Note that an acquisition begins. It has neither queued nor ended until it departs.

        Args:
            unit: what it is about.
            member: its name.
            now: by `since_boot`.
        """
        arrivals = self._arrivals.get(unit.prefix)
        if arrivals is None:
            arrivals = self._arrivals.setdefault(unit.prefix, OrderedDict())
        arrivals[member] = now

    def depart(self, unit: Unit, member: str) -> None:
        """Note that an acquisition is about to queue, or has ended; the next one may queue then."""
        arrivals = self._arrivals.get(unit.prefix)
        if arrivals is None or arrivals.pop(member, None) is None:
            return
        first = _first(arrivals) if arrivals else None
        if first is None:
            self._arrivals.pop(unit.prefix, None)
        elif (room := self._rooms.find(unit)) is not None:
            room.wake(first)

    def is_preceded(self, unit: Unit, member: str) -> bool:
        """Return whether an acquisition that began earlier has neither queued nor ended."""
        arrivals = self._arrivals.get(unit.prefix) or OrderedDict[str, float]()
        first = _first(arrivals) or member
        if since_boot() - arrivals.get(first, 0.0) < LONGEST_ARRIVAL_S:
            return first != member
        self.depart(unit, first)
        return False

    def channel(self, unit: Unit) -> str:
        """Where this process is rung about *unit*; empty if it has no room for it."""
        room = self._rooms.find(unit)
        return "" if room is None else room.channel

    def hear(self, unit: Unit, words: Iterable[bytes]) -> None:
        """Pass on what a reply says to waiters of this process."""
        room = self._rooms.find(unit) if words else None
        if room is not None:
            for word in words:
                room.hear(word)

    def stir(self, unit: Unit) -> None:
        """A reply was lost that may have said something to waiters: let them look."""
        room = self._rooms.find(unit)
        if room is not None:
            room.stir()

    @contextmanager
    def waiting(self, unit: Unit, member: str, waiter: Waiter) -> Iterator[Room]:
        """While the context lasts, *waiter* is told what is said to *member*."""
        rooms = self._rooms
        try:
            yield rooms.enter(unit, lambda room: room.enter(member, waiter))
        finally:
            rooms.leave(unit, lambda room: room.leave(member))

    def close(self) -> None:
        """Close the rooms. Idempotent."""
        self._rooms.close()

    def after_fork(self) -> None:
        """In a forked child: the rooms are its parent's, and to let go of them might do it harm."""
        self._inherited.append(self._rooms)
        self._settle()

    def _settle(self) -> None:
        """In this process."""
        self._process = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._numbers = count(1)
        self._rooms = SubscriptionCache(lambda unit: Room(self._notifier, unit), IDLE_ROOMS)
        self._arrivals: dict[str, OrderedDict[str, float]] = {}  # by the prefix of the unit


def _first(arrivals: OrderedDict[str, float]) -> str | None:
    """Return the first key of *arrivals*, which other threads may change meanwhile."""
    while True:
        with suppress(RuntimeError):  # it was changed between the two steps of this line
            return next(iter(arrivals), None)
