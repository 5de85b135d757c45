"""The bell: the one way in which blocks wait for the server.

A script that makes something ready rings one waiting process: it takes the channel of the process
from the unit's waiting list and publishes to it (`SPUBLISH`, in the unit's slot; see
`lua/parts/bell.lua`). A process keeps one subscription connection per server node.

A ring is a hint and may be lost. So every waiter is also woken after each (re)subscription, and
looks at the state again at least every `RECHECK_S`: a lost ring costs a second, never a message.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, Protocol

import msgspec
from redis.asyncio import connection as flavour
from redis.exceptions import RedisError

from .clock import backoff_s
from .connections._async import AsyncRoutes
from .connections.request import Request
from .connections.settings import Address, Settings
from .names import Unit
from .runtime._async import Event, Mutex, Running, cancelled, sleep, spawn, time_limit
from .runtime.thread import LoopThread, OwnLoop

RECHECK_S: Final = 1.0
"""A waiter looks at the state again this often, rung or not."""

_QUIET_S: Final = 15.0
"""After this long without a word a line is asked whether it still lives."""

_BROKEN = (RedisError, OSError, TimeoutError)


class Flag(Protocol):
    """What a ring raises: the event of either half."""

    def set(self) -> None: ...


class Bell:
    """Hears the rings that are meant for this process.

    Args:
        settings: where the server is.
        where: makes what the subscriptions live in, once per process.
    """

    def __init__(
        self, settings: Settings, where: Callable[[], LoopThread | OwnLoop] = LoopThread.enter
    ) -> None:
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
        exchange = self._here()
        channel = unit.key(f"bell:{exchange.name}.{next(exchange.numbers)}")
        exchange.loop.call_soon(exchange.join, unit, channel, _Listener(flag, told))
        try:
            yield channel
        finally:
            exchange.loop.call_soon(exchange.leave, channel)

    def close(self) -> None:
        """Hang up. Idempotent. Not from the loop in which the subscriptions live."""
        exchange = self._exchanges.pop(os.getpid(), None)
        if exchange is not None:
            exchange.loop.submit(exchange.close()).result()
            exchange.loop.leave()

    def _here(self) -> _Exchange:
        """The exchange of this process: what a parent has left here is of no use to a child."""
        exchange = self._exchanges.get(os.getpid())
        if exchange is None:
            made = _Exchange(self._settings, self._where())
            exchange = self._exchanges.setdefault(os.getpid(), made)
            if exchange is not made:  # another thread was faster
                made.loop.leave()
        return exchange


class _Listener(msgspec.Struct, frozen=True, eq=False):
    """Who is to be woken."""

    flag: Flag
    told: Callable[[bytes], None] | None

    def ring(self, word: bytes = b"") -> None:
        """Something may be new; *word* says what, if anything."""
        if word and self.told is not None:
            self.told(word)
        self.flag.set()


class _Exchange:
    """The lines of a process, all in one loop."""

    def __init__(self, settings: Settings, loop: LoopThread | OwnLoop) -> None:
        self.name = secrets.token_hex(6)
        self.numbers = count()
        self.loop = loop
        self._settings = settings
        self._listening: dict[str, Running[None]] = {}
        self._routes = AsyncRoutes(settings)
        self._lines: dict[Address, _Line] = {}
        self._dialling: defaultdict[Address, Mutex] = defaultdict(Mutex)

    def join(self, unit: Unit, channel: str, listener: _Listener) -> None:
        """Keep *channel* subscribed where *unit* lives, wherever that moves, until `leave`."""
        task = spawn(self._listen(unit, channel, listener), f"holdfast bell of {unit}")
        task.add_done_callback(lambda _: self._listening.pop(channel))
        self._listening[channel] = task

    def leave(self, channel: str) -> None:
        """End the subscription of *channel*."""
        if channel in self._listening:
            self._listening[channel].cancel()

    async def close(self) -> None:
        """Unsubscribe everyone, then hang up."""
        await cancelled(*self._listening.values())
        for line in self._lines.values():
            await line.close()
        await self._routes.close()

    async def _listen(self, unit: Unit, channel: str, listener: _Listener) -> None:
        failures = 0
        while True:
            generation = self._routes.generation
            with contextlib.suppress(*_BROKEN):
                address = await self._routes.address(unit)
                if address is not None:
                    line = await self._line(address)
                    await line.subscribe(channel, listener)
                    failures = 0
            failures += 1
            await sleep(backoff_s(failures, 0.02, RECHECK_S))
            await self._routes.discover(generation)

    async def _line(self, address: Address) -> _Line:
        async with self._dialling[address]:
            line = self._lines.get(address)
            if line is None or line.dead:
                line = self._lines[address] = _Line(self._settings, address)
                await line.open()
            return line


class _Line:
    """One subscription connection to one node, for as long as it holds."""

    def __init__(self, settings: Settings, address: Address) -> None:
        self._timeout_s = settings.timeout_s
        self._connection = settings.connection(flavour, address)
        self._listeners: dict[bytes, tuple[_Listener, Event]] = {}
        self._reading: Running[None] | None = None

    @property
    def dead(self) -> bool:
        """Whether it is not open, or not any more."""
        return self._reading is None or self._reading.done()

    async def open(self) -> None:
        """Connect; raises what stands in the way."""
        async with time_limit(self._timeout_s):
            await self._connection.connect()
        self._reading = spawn(self._listen(), "holdfast bell")

    async def subscribe(self, channel: str, listener: _Listener) -> None:
        """Wake *listener* at each ring of *channel*, until the line or the subscription ends."""
        ended = Event()
        self._listeners[channel.encode()] = (listener, ended)
        try:
            await self._send("SSUBSCRIBE", channel)
            await ended.wait(None)
        finally:
            del self._listeners[channel.encode()]
            if not self.dead:
                with contextlib.suppress(*_BROKEN):
                    await self._send("SUNSUBSCRIBE", channel)

    async def close(self) -> None:
        """Hang up."""
        if self._reading is not None:
            await cancelled(self._reading)
        await self._end()

    async def _send(self, *command: str) -> None:
        if not self._connection.is_connected:
            raise ConnectionError("the line was closed meanwhile")
        async with time_limit(self._timeout_s):
            payload = Request.of(*command).payload
            await self._connection.send_packed_command([payload], check_health=False)

    async def _listen(self) -> None:
        try:
            while True:
                message = await self._connection.read_response(timeout=_QUIET_S)
                if message is None:
                    await self._send("PING")
                    message = await self._connection.read_response(timeout=self._timeout_s)
                if message is None:
                    return
                self._heard(message)
        except _BROKEN:
            return
        finally:
            await self._end()

    def _heard(self, message: Any) -> None:
        """A ring, or the confirmation of a subscription: both mean that something may be new."""
        kind, channel = message[0], message[1]
        listener, ended = self._listeners.get(channel, (None, None))
        if listener is None or ended is None:
            return
        listener.ring(message[2] if kind == b"smessage" else b"")
        if kind == b"sunsubscribe":  # the slot has moved to another node
            ended.set()

    async def _end(self) -> None:
        for _, ended in self._listeners.values():
            ended.set()
        with contextlib.suppress(*_BROKEN):
            await self._connection.disconnect(nowait=True)
