"""The waiters of a process for permits, and the notifications that they get.

The waiters of a process for one unit, of both halves, share one subscription. It stays open for a
while after the last waiter has left: the process often waits again, and subscribing takes a call.

A notification is `id fence ends_ms`. It grants a permit to the waiter *id*, which has to confirm
before the server's clock shows *ends_ms*. If the fence is 0, nothing is granted: the waiter has to
ask again at *ends_ms*.
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
"""An acquisition that has neither queued nor ended for longer no longer delays later ones."""

IDLE_SUBSCRIPTIONS: Final = 64
"""How many subscriptions without a waiter a process keeps open."""


class Waiter:
    """One waiting acquisition. Notified from any thread; its owner reads it when the flag is set.

    Attributes:
        flag: set when there is something new.
        grant: fence and end (server's ms) of a permit that was granted; its owner resets it.
        recheck_ms: when to ask the server again (server's ms), from a notification; 0: none.
        must_recheck: whether a notification may have been missed, so that the owner asks now.
    """

    __slots__ = ("flag", "grant", "must_recheck", "recheck_ms")

    def __init__(self, flag: Flag) -> None:
        self.flag = flag
        self.grant: tuple[int, int] | None = None
        self.recheck_ms = 0
        self.must_recheck = False

    def notify(self, fence: int, ends_ms: int) -> None:
        """Note a grant, or when to ask again, and wake the owner."""
        if fence:
            self.grant = (fence, ends_ms)
        else:
            self.recheck_ms = ends_ms
        self.flag.set()

    def recheck(self) -> None:
        """Wake the owner to ask the server: a notification may have been missed."""
        self.must_recheck = True
        self.flag.set()


class UnitWaiters:
    """The waiters of this process for one unit. It is the flag of their subscription.

    Attributes:
        channel: where the server notifies them; empty until it is subscribed.
        is_live: whether the subscription has ever been active.
    """

    def __init__(self, notifier: Notifier, unit: Unit) -> None:
        self.channel = ""
        self.is_live = False
        self._notifier = notifier
        self._unit = unit
        self._was_notified = False
        self._waiters: dict[bytes, Waiter] = {}
        self._stack = ExitStack()

    @property
    def empty(self) -> bool:
        """Return whether there is no waiter."""
        return not self._waiters

    def add(self, member: str, waiter: Waiter) -> None:
        """Pass notifications for *member* to *waiter*."""
        self._waiters[member.encode()] = waiter

    def remove(self, member: str) -> None:
        """Forget the waiter of *member*."""
        self._waiters.pop(member.encode(), None)

    def receive(self, message: bytes) -> None:
        """Pass on *message*, from a notification or from the reply to a call of this process."""
        member, _, rest = message.partition(b" ")
        waiter = self._waiters.get(member)
        fence, _, ends_ms = rest.partition(b" ")
        if waiter is not None and fence.isdigit() and ends_ms.isdigit():
            waiter.notify(int(fence), int(ends_ms))

    def set(self) -> None:
        """Let all waiters ask again, unless the flag is set for a message that was received."""
        if self._was_notified:
            self._was_notified = False
        else:
            self.is_live = True
            self.recheck()

    def wake(self, member: str) -> None:
        """Wake the waiter of *member*, if there is one."""
        waiter = self._waiters.get(member.encode())
        if waiter is not None:
            waiter.flag.set()

    def recheck(self) -> None:
        """Let all waiters ask the server: a notification may have been missed."""
        for waiter in list(self._waiters.values()):
            waiter.recheck()

    def open(self) -> None:
        """Subscribe."""
        subscription = self._notifier.listen(self._unit, self, self._notified)
        self.channel = self._stack.enter_context(subscription)

    def close(self) -> None:
        """Unsubscribe."""
        self._stack.close()

    def _notified(self, message: bytes) -> None:
        self._was_notified = True  # the notifier calls `set` next
        self.receive(message)


class WaiterRegistry:
    """The waiters of a client, and the names of its acquisitions; a forked child has its own.

    Args:
        notifier: receives the notifications.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._inherited: list[SubscriptionCache[UnitWaiters]] = []
        self._reset()
        register_after_fork(self)

    def new_name(self) -> str:
        """Return a new name for an acquisition: `host:process id:number`."""
        return f"{self._process}.{next(self._numbers)}"

    def arrive(self, unit: Unit, member: str, now: float) -> None:
        """Note that an acquisition begins. It has neither queued nor ended until it departs.

        Args:
            unit: the lock or semaphore.
            member: name of the acquisition.
            now: the time by `since_boot`.
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
        elif (waiters := self._units.find(unit)) is not None:
            waiters.wake(first)

    def is_preceded(self, unit: Unit, member: str) -> bool:
        """Return whether an acquisition that began earlier has neither queued nor ended."""
        arrivals = self._arrivals.get(unit.prefix) or OrderedDict[str, float]()
        first = _first(arrivals) or member
        if since_boot() - arrivals.get(first, 0.0) < LONGEST_ARRIVAL_S:
            return first != member
        self.depart(unit, first)
        return False

    def channel(self, unit: Unit) -> str:
        """Return where this process is notified about *unit*; empty: it has no subscription."""
        waiters = self._units.find(unit)
        return "" if waiters is None else waiters.channel

    def receive(self, unit: Unit, messages: Iterable[bytes]) -> None:
        """Pass on the *messages* in a reply to the waiters of this process."""
        waiters = self._units.find(unit) if messages else None
        if waiters is not None:
            for message in messages:
                waiters.receive(message)

    def recheck(self, unit: Unit) -> None:
        """Let the waiters ask the server: a lost reply may have contained messages for them."""
        waiters = self._units.find(unit)
        if waiters is not None:
            waiters.recheck()

    @contextmanager
    def waiting(self, unit: Unit, member: str, waiter: Waiter) -> Iterator[UnitWaiters]:
        """Pass notifications for *member* to *waiter* while the context lasts."""
        units = self._units
        try:
            yield units.enter(unit, lambda waiters: waiters.add(member, waiter))
        finally:
            units.leave(unit, lambda waiters: waiters.remove(member))

    def close(self) -> None:
        """Close all subscriptions. Idempotent."""
        self._units.close()

    def after_fork(self) -> None:
        """Start empty in a forked child. Deleting the parent's objects could close its sockets."""
        self._inherited.append(self._units)
        self._reset()

    def _reset(self) -> None:
        self._process = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._numbers = count(1)
        self._units = SubscriptionCache(
            lambda unit: UnitWaiters(self._notifier, unit), IDLE_SUBSCRIPTIONS
        )
        self._arrivals: dict[str, OrderedDict[str, float]] = {}  # by the prefix of the unit


def _first(arrivals: OrderedDict[str, float]) -> str | None:
    """Return the first key of *arrivals*, which other threads may change at the same time."""
    while True:
        with suppress(RuntimeError):  # another thread changed it within this line
            return next(iter(arrivals), None)
