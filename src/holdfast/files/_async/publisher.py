"""One file on its way to a feed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from ...core._async.caller import CallKind
from ...core.clock import Deadline
from ...core.concurrency._async.waiting import AutoResetEvent, in_thread
from ...core.damage import decoding
from ...core.notifier import RECHECK_S
from ...core.script import Script
from ...errors import BudgetExceeded, DamagedFile, FeedLost, FeedSealed, FileDiffers
from .. import keys
from ..answer import Answer
from ..chunk import DIGEST_AT, WINDOW
from ..source import decoded_name
from ..states import PublishedFile
from ..upload import Load, Shipment
from .feed_store import AsyncDesk

PUT: Final = Script.load("holdfast.files", "put")


class AsyncPublishing:
    """Sends one file.

    Whatever of it the server has already is compared and not sent again: by its digest, after a
    publisher that was killed, or beside one that sends the same.

    Args:
        desk: of the feed.
        name: of the file, as it is stored.
        shipment: the file.
        timeout_s: how long to wait for room at a time; None: for ever.
        on_progress: told the name and how many bytes are published.
    """

    def __init__(
        self,
        desk: AsyncDesk,
        name: bytes,
        shipment: Shipment,
        timeout_s: float | None,
        on_progress: Callable[[str, int], object] | None,
    ) -> None:
        self._desk = desk
        self._name = name
        self._shipment = shipment
        self._timeout_s = timeout_s
        self._on_progress = on_progress
        self._epoch = b""
        self._sent = False

    async def run(self) -> PublishedFile:
        """Send it whole.

        Raises:
            BudgetExceeded, DamagedFile, FileDiffers, FeedSealed, FeedAborted, FeedLost.
        """
        while True:
            load = await in_thread(self._shipment.load)
            answer = await self._send(load)
            if answer.verdict == b"published":
                return await self._compared(answer)
            if answer.count > self._shipment.index:
                await self._catch_up(answer)
            elif answer.verdict == b"elsewhere":
                await self._go_back()
            elif load.ending:
                return self._result(load.ending, load.problem)

    async def _send(self, load: Load) -> Answer:
        """Send *load*; ends early when the server has more of the file than that."""
        answer = self._told(await self._put(load, ""))
        if answer.verdict != b"full":
            return answer
        flag = AutoResetEvent()
        with self._desk.notifier.heard(self._desk.unit, flag) as channel:
            deadline = Deadline(self._timeout_s)
            while answer.verdict == b"full":
                if answer.count > load.at:
                    load, deadline = load.after(answer.count), Deadline(self._timeout_s)
                elif deadline.passed:
                    await self._give_up()
                else:
                    await flag.wait(min(RECHECK_S, deadline.left_s()))
                part = load.part(_fitting(load, answer.room))
                answer = self._told(await self._put(part, channel))
                if part is not load and answer.count <= load.at + len(load.chunks):
                    answer = msgspec.structs.replace(answer, verdict=b"full")  # there is more
        return answer

    async def _put(self, load: Load, waiter: str) -> Answer:
        reply = await self._desk.ask(
            PUT,
            self._desk.packed if not self._epoch else b"",
            self._epoch,
            self._desk.channel,
            waiter,
            self._name,
            load.at,
            load.before,
            load.size,
            load.ending,
            load.problem,
            DIGEST_AT,
            *load.chunks,
            kind=CallKind.BULK,
        )
        if len(reply) < len(Answer.__struct_fields__):
            self._desk.refuse(reply)
        with decoding(keys.files(self._desk.unit)):
            answer = Answer.of(reply)
        self._epoch = answer.epoch
        if answer.verdict in (b"sealed", b"many"):
            self._desk.refuse(reply)
        if answer.verdict == b"changed":
            raise FileDiffers(self._desk.name, self._shown_name)
        return answer

    def _told(self, answer: Answer) -> Answer:
        """*answer*, with its progress told."""
        self._sent = self._sent or answer.verdict in (b"stored", b"full")
        if self._on_progress is not None:
            self._on_progress(self._shown_name, answer.size)
        return answer

    async def _go_back(self) -> None:
        """Read the file again from its beginning: the server has lost some of what was sent."""
        if not await in_thread(self._shipment.rewind):
            raise FeedLost(self._desk.name)

    async def _catch_up(self, answer: Answer) -> None:
        """Go to where the server is, if what it has is what is read here."""
        while (ahead := answer.count - self._shipment.index) > 0:
            if not await in_thread(self._shipment.skip, min(ahead, WINDOW)):
                break
        if self._shipment.digest != answer.digest:
            raise FileDiffers(self._desk.name, self._shown_name)

    async def _compared(self, answer: Answer) -> PublishedFile:
        """What was published already, if it is the same."""
        while await in_thread(self._shipment.skip, WINDOW):
            pass
        same = (self._shipment.digest, self._shipment.size) == (answer.digest, answer.size)
        ending = "damaged" if self._shipment.problem else "whole"
        if same and answer.state == ending.encode():
            return self._result(ending, self._shipment.problem)
        if answer.state == b"damaged" and (await self._desk.status()).state != "open":
            raise FeedSealed(self._desk.name, self._shown_name)
        raise FileDiffers(self._desk.name, self._shown_name)

    def _result(self, ending: str, problem: str) -> PublishedFile:
        if ending == "damaged":
            raise DamagedFile(self._desk.name, self._shown_name, problem)
        digest = self._shipment.digest
        return PublishedFile(self._shown_name, self._shipment.size, digest.decode(), self._sent)

    async def _give_up(self) -> None:
        status = await self._desk.status()
        raise BudgetExceeded(
            self._desk.name,
            self._shown_name,
            status.budget,
            self._timeout_s or 0.0,
            status.holders,
        )

    @property
    def _shown_name(self) -> str:
        return decoded_name(self._name)


def _fitting(load: Load, room: int) -> int:
    """How many chunks there is room for; one at least, as room may be made for it."""
    count, size = 0, 0
    for chunk in load.chunks:
        size += len(chunk)
        if count and size > room:
            break
        count += 1
    return count
