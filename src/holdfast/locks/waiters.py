"""Pass notifications to the waiters of a client.

The waiters for one lock or semaphore in one process share one subscription of the notifier. The
subscription stays open for a while after its last waiter has left.

A notification is `id fence ends_ms`:

- If the fence is not 0, the waiter *id* is granted a permit. It must confirm the grant before the
  server's clock shows *ends_ms*.
- If the fence is 0, the waiter must call `acquire.lua` again at *ends_ms*.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from itertools import count
from typing import ClassVar, Final

from ..core.clock import since_boot
from ..core.concurrency._sync.primitives import AutoResetEvent
from ..core.concurrency.direct_reading import DirectReading
from ..core.concurrency.fork_hooks import register_after_fork
from ..core.lifetime import Flag
from ..core.names import Unit
from ..core.notifier import Notifier
from ..core.subscriptions import SubscriptionCache

LONGEST_ARRIVAL_S: Final = 5.0
"""Acquisitions of a process queue in the order of their calls. So later ones wait until an earlier
one has queued or ended, but at most this many seconds."""

IDLE_SUBSCRIPTIONS: Final = 64
"""Number of subscriptions without a waiter that a process keeps open."""


class Waiter:
    """One waiting acquisition. Any thread may notify it; the acquisition then reads the attributes.

    Attributes:
        flag: set when an attribute has changed.
        grant: fence of a granted permit, and until when to confirm it (server's time in ms); the
            acquisition resets it.
        recheck_ms: when to call `acquire.lua` again (server's time in ms); 0: not set.
        must_recheck: whether to call `acquire.lua` now, because a notification may be lost.
    """

    __slots__ = ("flag", "grant", "must_recheck", "recheck_ms")

    def __init__(self, flag: Flag) -> None:
        self.flag: Flag = flag
        self.grant: tuple[int, int] | None = None
        self.recheck_ms: int = 0
        self.must_recheck: bool = False

    def notify(self, fence: int, ends_ms: int) -> None:
        """Store a grant, or when to call `acquire.lua` again, and wake the acquisition."""
        if fence:
            self.grant = (fence, ends_ms)
        else:
            self.recheck_ms = ends_ms
        self.flag.set()

    def recheck(self) -> None:
        """Wake the acquisition to call `acquire.lua`, because a notification may be lost."""
        self.must_recheck = True
        self.flag.set()


class UnitWaiters:
    """The waiters of this process for one unit, which share a subscription.

    Attributes:
        channel: channel of the subscription; empty until it is opened.
        is_live: whether the server has confirmed the subscription at least once.
        wait: waits for a flag, and may read the connection of the subscription meanwhile; None: the
            flag waits by itself.
    """

    passive: ClassVar[bool] = False

    def __init__(self, notifier: Notifier, unit: Unit) -> None:
        self.channel: str = ""
        self.is_live: bool = False
        self.wait: Callable[[AutoResetEvent, float | None], bool] | None = None
        self._notifier = notifier
        self._unit = unit
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
        """Remove the waiter of *member*."""
        self._waiters.pop(member.encode(), None)

    def connected(self, reading: DirectReading | None) -> bool:
        """Store how a waiting thread can read the connection (*reading*); None: only the loop can.

        Return True, because all waiters of this unit wait in that way.
        """
        self.wait = None if reading is None else reading.wait
        return True

    def notify(self, message: bytes = b"") -> None:
        """Pass *message* to its waiter. If it is empty (see `Listener`), wake all waiters."""
        if message:
            self.receive(message)
        else:
            self.is_live = True
            self.recheck()

    def receive(self, message: bytes) -> None:
        """Pass *message*, a notification or a part of a reply, to its waiter."""
        member, _, rest = message.partition(b" ")
        waiter = self._waiters.get(member)
        fence, _, ends_ms = rest.partition(b" ")
        if waiter is not None and fence.isdigit() and ends_ms.isdigit():
            waiter.notify(int(fence), int(ends_ms))

    def set(self) -> None:
        """Wake all waiters, because the client closes (see `Flag`)."""
        self.recheck()

    def disconnected(self) -> None:
        """Do nothing, because each waiter checks the state by itself."""

    def wake(self, member: str) -> None:
        """Wake the waiter of *member*, if there is one."""
        waiter = self._waiters.get(member.encode())
        if waiter is not None:
            waiter.flag.set()

    def recheck(self) -> None:
        """Let all waiters call `acquire.lua`, because a notification may be lost."""
        for waiter in list(self._waiters.values()):
            waiter.recheck()

    def open(self) -> None:
        """Subscribe to a channel of the unit."""
        self._stack.enter_context(self._notifier.lifetime.set_on_close(self))
        self.channel = self._stack.enter_context(self._notifier.subscribe(self._unit, self))

    def close(self) -> None:
        """Unsubscribe."""
        self._stack.close()


class WaiterRegistry:
    """The waiters of a client, and the names of its acquisitions. A forked child starts empty.

    Args:
        notifier: receives the notifications.
    """

    def __init__(self, notifier: Notifier) -> None:
        self._notifier = notifier
        self._inherited: list[SubscriptionCache[UnitWaiters]] = []
        self._reset()
        register_after_fork(self)

    def new_name(self, mode: str = "") -> str:
        """Return a new name for an acquisition: `host:process id:number`, with *mode* before it."""
        return f"{self._process}.{mode}{next(self._numbers)}"

    def arrive(self, unit: Unit, member: str, now: float) -> None:
        """Record that an acquisition begins. Until `depart`, later acquisitions do not queue.

        Args:
            unit: the lock or semaphore.
            member: name of the acquisition.
            now: time by `since_boot`.
        """
        arrivals = self._arrivals.get(unit.prefix)
        if arrivals is None:
            arrivals = self._arrivals.setdefault(unit.prefix, {})
        arrivals[member] = now

    def depart(self, unit: Unit, member: str) -> None:
        """Record that an acquisition has joined the queue on the server, or has ended.

        Wake the one that began next in this process: it may join the queue now.
        """
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
        arrivals = self._arrivals.get(unit.prefix)
        if not arrivals or (len(arrivals) == 1 and member in arrivals):  # The usual case.
            return False
        first = _first(arrivals) or member
        if since_boot() - arrivals.get(first, 0.0) < LONGEST_ARRIVAL_S:
            return first != member
        self.depart(unit, first)
        return False

    def channel(self, unit: Unit) -> str:
        """Return the channel of this process for *unit*; empty if there is no subscription."""
        waiters = self._units.find(unit)
        return "" if waiters is None else waiters.channel

    def receive(self, unit: Unit, messages: Iterable[bytes]) -> None:
        """Pass the *messages* in a reply to the waiters for *unit* in this process."""
        waiters = self._units.find(unit) if messages else None
        if waiters is not None:
            for message in messages:
                waiters.receive(message)

    def recheck(self, unit: Unit) -> None:
        """Let the waiters for *unit* call `acquire.lua`, because a reply for them may be lost."""
        waiters = self._units.find(unit)
        if waiters is not None:
            waiters.recheck()

    def enter(self, unit: Unit, member: str, waiter: Waiter) -> UnitWaiters:
        """Pass notifications for *member* to *waiter*, until `leave`."""
        return self._units.enter(unit, lambda waiters: waiters.add(member, waiter))

    def leave(self, unit: Unit, member: str) -> None:
        """Stop passing notifications for *member*. Safe if `enter` was interrupted."""
        self._units.leave(unit, lambda waiters: waiters.remove(member))

    def close(self) -> None:
        """Close all subscriptions. Safe to repeat."""
        self._units.close()

    def after_fork(self) -> None:
        """Start without waiters in a forked child.

        Keep references to the parent's objects, because finalizing them could affect its sockets.
        """
        self._inherited.append(self._units)
        self._reset()

    def _reset(self) -> None:
        self._process = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._numbers = count(1)
        self._units = SubscriptionCache(
            lambda unit: UnitWaiters(self._notifier, unit), IDLE_SUBSCRIPTIONS
        )
        self._arrivals: dict[str, dict[str, float]] = {}  # by the prefix of the unit


def _first(arrivals: dict[str, float]) -> str | None:
    """Return the first key of *arrivals*, which other threads may change at the same time."""
    while True:
        with suppress(RuntimeError):  # Another thread has changed it: try again.
            return next(iter(arrivals), None)
