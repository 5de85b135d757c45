"""The bell: the one way in which blocks wait for the server.

A script that makes something ready rings one waiting process: it takes the channel of the process
from the unit's waiting list and publishes to it (`SPUBLISH`, in the unit's slot; see
`lua/parts/bell.lua`). A process keeps one subscription connection per server node.

A ring is a hint and may be lost. So every waiter is also woken after each (re)subscription, and
looks at the state again at least every `RECHECK_S`: a lost ring costs a second, never a message.

What concerns all who wait for a unit is published on a channel of its own, `bell`; a process
subscribes to it once. There may be thousands of such followers, too many to look every second. They
are patient instead: nothing is lost as long as the line holds, so the line is asked every
`RECHECK_S` whether it does, and they are woken whenever it may not have.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import ClassVar, Final

import msgspec

from ._async.router import AsyncRouter
from .clock import backoff_s
from .concurrency._async.waiting import Mutex, Running, cancelled, sleep, spawn
from .concurrency.loop_thread import LoopThread, OwnLoop
from .lifetime import Flag, Lifetime
from .names import Unit
from .pubsub import Line
from .subscriptions import SubscriptionCache
from .transport.settings import Address, Settings

RECHECK_S: Final = 1.0
"""A waiter looks at the state again this often, rung or not."""

IDLE_AUDIENCES: Final = 1024
"""Broadcasts that a process goes on to hear though nobody follows them now."""


class Notifier:
    """Hears the rings that are meant for this process.

    Args:
        settings: where the server is.
        where: makes what the subscriptions live in, once per process.
        lifetime: of the client; its end raises the flags of all who wait.
    """

    def __init__(
        self,
        settings: Settings,
        where: Callable[[], LoopThread | OwnLoop] = LoopThread.enter,
        lifetime: Lifetime | None = None,
    ) -> None:
        self.lifetime = lifetime or Lifetime()
        self._settings = settings
        self._where = where
        self._exchanges: dict[int, _Exchange] = {}

    @contextmanager
    def heard(
        self, unit: Unit, flag: Flag, told: Callable[[bytes], None] | None = None
    ) -> Iterator[str]:
        """While the context lasts, rings about *unit* raise *flag*.

        Args:
            unit: what is waited for.
            flag: raised at each ring, and whenever one may have been missed.
            told: given what a ring says, if it says anything; called in the loop of the
                subscriptions, so it must be quick.

        Yields:
            The channel on which this listener is rung.
        """
        with self.lifetime.wakes(flag):
            exchange = self._here(unit)
            channel = unit.key(f"bell:{exchange.name}.{next(exchange.numbers)}")
            try:
                exchange.tell(exchange.join, unit, channel, _Listener(flag, told))
                yield channel
            finally:
                exchange.tell(exchange.leave, channel)

    @contextmanager
    def follows(self, units: Iterable[Unit], flag: Flag) -> Iterator[None]:
        """While the context lasts, what is broadcast about *units* raises *flag*.

        Look after entering, and whenever the flag is raised: by a broadcast, and when one may have
        been missed. While the line holds there is no need to look by oneself.
        """
        followed, entered = [*units], list[Unit]()
        with self.lifetime.wakes(flag):
            audiences = self._here(*followed[:1]).audiences
            try:
                for unit in followed:
                    entered.append(unit)  # first, so that an interrupted `enter` is undone
                    audiences.enter(unit, lambda audience: audience.flags.add(flag))
                yield
            finally:
                for unit in entered:
                    audiences.leave(unit, lambda audience: audience.flags.discard(flag))

    def close(self) -> None:
        """Wake all who wait, and hang up. Idempotent. Not from the loop of the subscriptions."""
        self.lifetime.end()
        exchange = self._exchanges.pop(os.getpid(), None)
        if exchange is not None:
            exchange.audiences.close()
            exchange.loop.submit(exchange.close()).result()
            exchange.loop.leave()

    def abandon(self) -> bool:
        """Hang up soon; whether there is anything. For the garbage collector: takes no lock."""
        exchange = self._exchanges.pop(os.getpid(), None)
        if exchange is not None:
            exchange.loop.leave_after(exchange.close())
        return exchange is not None

    def _here(self, *units: Unit) -> _Exchange:
        """The exchange of this process: what a parent has left here is of no use to a child.

        Raises:
            ClientClosed: there is none any more, for *units*.
        """
        exchange = self._exchanges.get(os.getpid())
        if exchange is None:
            made = _Exchange(self._settings, self._where())
            exchange = self._exchanges.setdefault(os.getpid(), made)
            if exchange is not made:  # another thread was faster
                made.loop.leave()
        if self.lifetime.closed:  # first that, then the look: `close` does it the other way round
            self.close()
            self.lifetime.check(f"waiting for {', '.join(map(str, units)) or 'nothing'}")
        return exchange


class _Listener(msgspec.Struct, frozen=True, eq=False):
    """Who is to be woken."""

    flag: Flag
    told: Callable[[bytes], None] | None
    patient: ClassVar[bool] = False

    def ring(self, word: bytes = b"") -> None:
        """Something may be new; *word* says what, if anything."""
        if word and self.told is not None:
            self.told(word)
        self.flag.set()

    def unheard(self) -> None:
        """There is no line now: nothing to do, it looks by itself."""


class _Audience:
    """The followers of a unit in this process."""

    patient: ClassVar[bool] = True

    def __init__(self, open_: Callable[[_Audience], None], close: Callable[[], None]) -> None:
        self.flags: set[Flag] = set()
        self._open = open_
        self.close: Final = close

    @property
    def empty(self) -> bool:
        """Whether nobody follows."""
        return not self.flags

    def open(self) -> None:
        """Subscribe."""
        self._open(self)

    def ring(self, word: bytes = b"") -> None:
        """Something may be new for all."""
        del word
        for flag in list(self.flags):
            flag.set()

    def unheard(self) -> None:
        """There is no line now, so let them look."""
        self.ring()


class _Exchange:
    """The lines of a process, all in one loop."""

    def __init__(self, settings: Settings, loop: LoopThread | OwnLoop) -> None:
        self.name = secrets.token_hex(6)
        self.numbers = count()
        self.loop = loop
        self.audiences = SubscriptionCache(self._audience, IDLE_AUDIENCES)
        self._settings = settings
        self._listening: dict[str, Running[None]] = {}
        self._routes = AsyncRouter(settings)
        self._lines: dict[Address, Line] = {}
        self._closed = False
        self._dialling: defaultdict[Address, Mutex] = defaultdict(Mutex)

    def join(self, unit: Unit, channel: str, listener: _Listener | _Audience) -> None:
        """Keep *channel* subscribed where *unit* lives, wherever that moves, until `leave`."""
        if self._closed:
            return
        before = self._listening.get(channel)
        work = self._listen(unit, channel, listener, before)
        task = spawn(work, f"holdfast bell of {unit}")
        task.add_done_callback(lambda task: self._left(channel, task))
        self._listening[channel] = task

    def leave(self, channel: str) -> None:
        """End the subscription of *channel*."""
        if channel in self._listening:
            self._listening[channel].cancel()

    def _left(self, channel: str, task: Running[None]) -> None:
        if self._listening.get(channel) is task:
            del self._listening[channel]

    def _audience(self, unit: Unit) -> _Audience:
        channel = unit.key("bell")
        return _Audience(
            lambda audience: self.tell(self.join, unit, channel, audience),
            lambda: self.tell(self.leave, channel),
        )

    def tell(self, function: Callable[..., object], *args: object) -> None:
        """Call *function* in the loop of the subscriptions, soon; not after its end."""
        with contextlib.suppress(RuntimeError):  # it was closed with the last client
            self.loop.call_soon(function, *args)

    async def close(self) -> None:
        """Unsubscribe everyone, then hang up."""
        self._closed = True
        await cancelled(*self._listening.values())
        for line in self._lines.values():
            await line.close()
        await self._routes.close()

    async def _listen(
        self,
        unit: Unit,
        channel: str,
        listener: _Listener | _Audience,
        before: Running[None] | None,
    ) -> None:
        if before is not None:  # one subscription to a channel ends before the next one begins
            await cancelled(before)
        failures = 0
        while True:
            generation = self._routes.generation
            with contextlib.suppress(Exception):  # also of what the user gave
                address = await self._routes.address(unit)
                if address is not None:
                    line = await self._line(address)
                    if await line.subscribe(channel, listener):
                        failures = 0
            failures += 1
            if failures > 1:
                listener.unheard()
            await sleep(backoff_s(failures, 0.02, RECHECK_S))
            with contextlib.suppress(Exception):
                await self._routes.discover(generation)

    async def _line(self, address: Address) -> Line:
        async with self._dialling[address]:
            line = self._lines.get(address)
            if line is None or line.dead:
                line = self._lines[address] = Line(self._settings, address)
                await line.open()
            return line
