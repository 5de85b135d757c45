"""Wake waiters and followers when the state of a unit changes on the server.

A *waiter* has a channel of its own. A script that makes something ready takes the first channel
from the unit's wait list and publishes to it (`SPUBLISH`; see `lua/parts/notify.lua`). A
notification is a hint and may be lost. So each waiter is also woken when its subscription begins,
and checks the state at least every `RECHECK_S`: a lost notification costs a second, no data.

*Followers* share the broadcast channel `notify` of their unit, to which a process subscribes once.
There may be thousands of followers, too many to check the state every second. Instead, the process
checks the connection every second, and wakes the followers if a notification may be lost.

A process has one pub/sub connection to each server that it needs.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import ClassVar, Final, Protocol

import msgspec

from ._async.router import AsyncRouter
from .clock import backoff_s
from .concurrency._async.background_task import RunningTask, cancel_and_wait, spawn
from .concurrency._async.primitives import Mutex, sleep
from .concurrency.direct_reading import DirectReading
from .concurrency.loop_thread import LoopThread, OwnLoop
from .lifetime import Flag, Lifetime
from .names import Unit
from .pubsub import Listener, PubSubConnection
from .subscriptions import SubscriptionCache
from .transport.settings import Address, Settings

RECHECK_S: Final = 1.0
"""Seconds after which a waiter checks the state again, with or without a notification."""

IDLE_BROADCASTS: Final = 1024
"""Number of broadcast channels without followers to which a process stays subscribed."""


class Notifier:
    """Receives the notifications of a client.

    Args:
        settings: settings of the connections.
        where: returns the loop in which the connections run; called once per process.
        lifetime: state of the client; its end wakes all waiters and followers.
    """

    def __init__(
        self,
        settings: Settings,
        where: Callable[[], LoopThread | OwnLoop] = LoopThread.enter,
        lifetime: Lifetime | None = None,
    ) -> None:
        self.lifetime: Lifetime = lifetime or Lifetime()
        self._settings = settings
        self._where = where
        self._pubsubs: dict[int, _PubSub] = {}  # by process id

    @contextmanager
    def listen(
        self,
        unit: Unit,
        flag: Flag,
        on_message: Callable[[bytes], None] | None = None,
        name: str = "",
    ) -> Iterator[str]:
        """Subscribe to a new channel of *unit*, and set *flag* at each message, in this context.

        Args:
            unit: the unit that the caller waits for.
            flag: set at each notification, and when one may have been lost.
            on_message: called with the content of each notification that is not empty. It runs in
                the loop of the connections, so it must be quick.
            name: name of the waiter, with which the channel ends after an `@`; empty: no name.

        Yields:
            The channel.
        """
        waiter = _ChannelWaiter(flag, on_message)
        with self.lifetime.set_on_close(flag), self.subscribe(unit, waiter, name=name) as channel:
            yield channel

    @contextmanager
    def subscribe(self, unit: Unit, listener: Subscriber, *, name: str = "") -> Iterator[str]:
        """Subscribe to a new channel of *unit* in this context, and yield the channel.

        Args:
            unit: the unit that the caller waits for.
            listener: gets the messages.
            name: name of the waiter, with which the channel ends after an `@`; empty: no name.
        """
        pubsub = self._here(unit)
        named = f"@{name}" if name else ""
        channel = unit.key(f"notify:{pubsub.name}.{next(pubsub.numbers)}{named}")
        try:
            pubsub.call_soon(pubsub.join, unit, channel, listener)
            yield channel
        finally:
            pubsub.call_soon(pubsub.leave, channel)

    @contextmanager
    def follow(self, units: Iterable[Unit], flag: Flag) -> Iterator[None]:
        """Set *flag* at each broadcast about *units*, and when one may be lost, in this context.

        Check the state after entering, and whenever the flag is set. No other checks are needed.
        """
        followed, entered = [*units], list[Unit]()
        with self.lifetime.set_on_close(flag):
            broadcasts = self._here(*followed[:1]).broadcasts
            try:
                for unit in followed:
                    entered.append(
                        unit
                    )  # Before `enter`, so that an interrupted `enter` is undone.
                    broadcasts.enter(unit, lambda followers: followers.flags.add(flag))
                yield
            finally:
                for unit in entered:
                    broadcasts.leave(unit, lambda followers: followers.flags.discard(flag))

    def close(self) -> None:
        """Wake all waiters and close the connections. Safe to repeat.

        Do not call this in the loop of the connections: it would wait for itself.
        """
        self.lifetime.end()
        pubsub = self._pubsubs.pop(os.getpid(), None)
        if pubsub is not None:
            pubsub.broadcasts.close()
            pubsub.loop.submit(pubsub.close()).result()
            pubsub.loop.leave()

    def abandon(self) -> bool:
        """Close soon, without waiting and without a lock, so that a finalizer may call this.

        Return whether a connection may be open.
        """
        pubsub = self._pubsubs.pop(os.getpid(), None)
        if pubsub is not None:
            pubsub.loop.leave_after(pubsub.close())
        return pubsub is not None

    def _here(self, *units: Unit) -> _PubSub:
        """Return the subscriptions of this process. A forked child cannot use those of its parent.

        Raises:
            ClientClosed: the client is closed; the error names *units*.
        """
        pubsub = self._pubsubs.get(os.getpid())
        if pubsub is None:
            made = _PubSub(self._settings, self._where())
            pubsub = self._pubsubs.setdefault(os.getpid(), made)
            if pubsub is not made:  # Another thread has stored one since.
                made.loop.leave()
        # Check this after `setdefault`: a concurrent `close` first ends the lifetime, and may have
        # looked for subscriptions to close before this call stored one.
        if self.lifetime.closed:
            self.close()
            self.lifetime.check(f"waiting for {', '.join(map(str, units)) or 'nothing'}")
        return pubsub


class Subscriber(Listener, Protocol):
    """Receives the messages of a channel, whichever connection delivers them."""

    def disconnected(self) -> None:
        """Note that subscribing has failed twice or more in a row: messages may be lost."""


class _ChannelWaiter(msgspec.Struct, frozen=True, eq=False):
    """A waiter with a pub/sub channel that no other waiter uses."""

    flag: Flag
    on_message: Callable[[bytes], None] | None
    passive: ClassVar[bool] = False

    def connected(self, reading: DirectReading | None) -> bool:
        """Return False, because the waiter does not read the connection."""
        del reading
        return False

    def notify(self, message: bytes = b"") -> None:
        """Wake the waiter, and pass it a *message* that is not empty."""
        if message and self.on_message is not None:
            self.on_message(message)
        self.flag.set()

    def disconnected(self) -> None:
        """Do nothing, because a waiter checks the state every second anyway."""


class _Followers:
    """The followers of a unit in this process. They share one subscription."""

    passive: ClassVar[bool] = True

    def __init__(self, open_: Callable[[_Followers], None], close: Callable[[], None]) -> None:
        self.flags: set[Flag] = set()
        self._open = open_
        self.close: Final = close

    @property
    def empty(self) -> bool:
        """Return whether there is no follower."""
        return not self.flags

    def open(self) -> None:
        """Subscribe to the broadcast channel."""
        self._open(self)

    def connected(self, reading: DirectReading | None) -> bool:
        """Return False, because followers do not read the connection."""
        del reading
        return False

    def notify(self, message: bytes = b"") -> None:
        """Wake all followers."""
        del message
        for flag in list(self.flags):
            flag.set()

    def disconnected(self) -> None:
        """Wake all followers, because a broadcast may be lost."""
        self.notify()


class _PubSub:
    """The subscriptions of a client in one process. All of them run in one loop."""

    def __init__(self, settings: Settings, loop: LoopThread | OwnLoop) -> None:
        self.name = secrets.token_hex(6)
        self.numbers = count()
        self.loop = loop
        self.broadcasts = SubscriptionCache(self._followers, IDLE_BROADCASTS)
        self._settings = settings
        self._listening: dict[str, RunningTask[None]] = {}
        self._router = AsyncRouter(settings)
        self._connections: dict[Address, PubSubConnection] = {}
        self._closed = False
        self._connecting: defaultdict[Address, Mutex] = defaultdict(Mutex)

    def join(self, unit: Unit, channel: str, listener: Subscriber) -> None:
        """Keep *channel* subscribed until `leave`, even if the slot of *unit* moves."""
        if self._closed:
            return
        before = self._listening.get(channel)
        work = self._listen(unit, channel, listener, before)
        task = spawn(work, f"holdfast notifier of {unit}")
        task.add_done_callback(lambda task: self._left(channel, task))
        self._listening[channel] = task

    def leave(self, channel: str) -> None:
        """End the subscription of *channel*."""
        if channel in self._listening:
            self._listening[channel].cancel()

    def _left(self, channel: str, task: RunningTask[None]) -> None:
        if self._listening.get(channel) is task:
            del self._listening[channel]

    def _followers(self, unit: Unit) -> _Followers:
        return _Followers(
            lambda followers: self.call_soon(self.join, unit, unit.channel, followers),
            lambda: self.call_soon(self.leave, unit.channel),
        )

    def call_soon(self, function: Callable[..., object], *args: object) -> None:
        """Call *function* soon in the loop of the subscriptions, unless that has ended."""
        with contextlib.suppress(RuntimeError):  # The loop ended with its last client.
            self.loop.call_soon(function, *args)

    async def close(self) -> None:
        """End all subscriptions, then close the connections."""
        self._closed = True
        await cancel_and_wait(*self._listening.values())
        for connection in self._connections.values():
            await connection.close()
        await self._router.close()

    async def _listen(
        self,
        unit: Unit,
        channel: str,
        listener: Subscriber,
        before: RunningTask[None] | None,
    ) -> None:
        if before is not None:  # End an earlier subscription to this channel first.
            await cancel_and_wait(before)
        failures = 0
        while True:
            generation = self._router.generation
            # The user's code, such as a credential provider, may raise any exception.
            with contextlib.suppress(Exception):
                address = await self._router.address(unit)
                if address is not None:
                    connection = await self._connection(address)
                    if await connection.subscribe(channel, listener):
                        failures = 0
            failures += 1
            if failures > 1:
                listener.disconnected()
            await sleep(backoff_s(failures, 0.02, RECHECK_S))
            with contextlib.suppress(Exception):
                await self._router.discover(generation)

    async def _connection(self, address: Address) -> PubSubConnection:
        async with self._connecting[address]:
            connection = self._connections.get(address)
            if connection is None or connection.closed:
                connection = PubSubConnection(self._settings, address, self.loop)
                self._connections[address] = connection
                await connection.open()
            return connection
