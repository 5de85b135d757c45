"""A session: what a consumer holds, it holds as long as this lives."""

from __future__ import annotations

import os
from typing import Any, Final

from ...core.bell import RECHECK_S
from ...core.clock import Deadline, since_boot
from ...core.ledger import new_writer
from ...core.renewer import Lease
from ...core.runtime._async import Nudge
from ...core.script import Script
from ...errors import FilesMissed, HoldfastError, UnknownConsumer
from ..definition import DEFAULT_LEASE_S
from ..desk._async import AsyncDesk
from ..view import Grant

CLAIM: Final = Script.load("holdfast.files", "claim")
LEAVE: Final = Script.load("holdfast.files", "leave")
RENEW: Final = Script.load("holdfast.files", "renew")

SMALL: Final = 32 << 10
"""Bytes of the only chunk of a file that comes with its claim."""

LOOK_S: Final = 5.0
"""About so often one who waits looks by itself, though it misses nothing while the line holds."""


class AsyncSession:
    """One run through the files: what it holds is held as long as it lives.

    Args:
        desk: of the feed.
        consumer: whose it is.
    """

    def __init__(self, desk: AsyncDesk, consumer: str) -> None:
        self.id: Final = (new_writer() + consumer).encode()
        self.epoch = b""
        self._desk = desk
        self._consumer = consumer
        self._turn = 0
        self._pid = os.getpid()
        self._lease: Lease | None = None
        self._entered = 0
        self._closed = False

    async def next(self, deadline: Deadline) -> Grant | None:
        """The next file; None at the end, or when none comes in time.

        Raises:
            FilesMissed, FeedAborted, FeedLost, UnknownConsumer, FeedCrowded, DefinitionConflict.
        """
        reply: Any = await self._claimed()
        while reply[0] == b"wait" and not deadline.passed:
            reply = await self._news(deadline)
        match reply[0]:
            case b"file":
                return Grant.of(self.id, reply)
            case b"missed":
                await self._leave(int(reply[1]))
                raise FilesMissed(self._desk.name, self._consumer, int(reply[1]))
            case b"stranger":
                raise UnknownConsumer(self._desk.name, self._consumer)
            case verdict if verdict not in (b"end", b"wait"):
                self._desk.refuse(reply)
        return None

    async def live(self) -> None:
        """See that signs of life are given."""
        if self._lease is None or self._lease.lost:
            definition = self._desk.given or await self._desk.definition()
            lease_ms = definition.lease_ms if definition else round(DEFAULT_LEASE_S * 1000)
            unit, names = self._desk.unit, self._desk.keys
            self._lease = Lease(
                unit, RENEW, names, self.id, 0, lease_ms, since_boot(), lambda: None
            )
            self._desk.renewer.keep(self._lease)

    def enter(self) -> None:
        """A file that it holds is in use."""
        self._entered += 1

    async def exit(self) -> None:
        """It is no longer."""
        self._entered -= 1
        if self._closed:
            await self.close()

    async def close(self) -> bool:
        """End it, when no file of it is in use: what it holds is free for others.

        Returns:
            Whether the server knows by now.
        """
        self._closed = True
        if self._entered:
            return False
        if self._lease is not None:
            self._desk.renewer.drop(self._lease)
        if not self.epoch or self._pid != os.getpid():
            return False
        try:
            await self._leave(0)
        except HoldfastError:
            return False  # its lease ends by itself
        return True

    async def _leave(self, told: int) -> None:
        args = (self.epoch, self.id, told, self._desk.channel)
        await self._desk.ask(LEAVE, *args, durable=False)

    async def _claimed(self) -> Any:
        """What there is now."""
        self._turn += 1
        start, held = 0, []
        while True:
            reply = await self._desk.ask(
                CLAIM,
                self._desk.packed if not self.epoch else b"",
                self.epoch,
                self.id,
                self._turn,
                SMALL,
                start,
                durable=False,  # only a lease
            )
            if reply[0] in (b"file", b"wait", b"again"):
                self.epoch = reply[1]
                await self.live()
            elif reply[0] == b"undefined":
                return [b"wait", b"", None]
            if reply[0] not in (b"again", b"wait"):
                return reply
            held += [int(reply[2])] if reply[2] else []
            if reply[0] == b"wait":
                return [b"wait", self.epoch, min(held, default=None)]
            start = int(reply[3])

    async def _news(self, deadline: Deadline) -> Any:
        """What there is after something has happened."""
        flag = Nudge()
        with self._desk.bell.follows([self._desk.unit], flag):
            while True:
                again = await self._claimed()  # it may have happened before the bell was heard
                if again[0] != b"wait" or deadline.passed:
                    return again
                held_s = LOOK_S if again[2] is None else again[2] / 1000
                look_s = LOOK_S if self.epoch else RECHECK_S
                await flag.wait(min(held_s + 0.01, look_s, deadline.left_s()))
