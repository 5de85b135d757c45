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
from ..chunk import DIGEST_AT, WINDOW
from ..source import decoded_name
from ..states import PublishedFile
from ..upload import PutReply, Upload, UploadBatch
from .feed_store import AsyncFeedStore

PUT: Final = Script.load("holdfast.files", "put")


class AsyncFilePublisher:
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
        store: AsyncFeedStore,
        name: bytes,
        upload: Upload,
        timeout_s: float | None,
        on_progress: Callable[[str, int], object] | None,
    ) -> None:
        self._store = store
        self._name = name
        self._upload = upload
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
            batch = await in_thread(self._upload.next_batch)
            answer = await self._send(batch)
            if answer.status == b"published":
                return await self._compared(answer)
            if answer.count > self._upload.index:
                await self._catch_up(answer)
            elif answer.status == b"wrong_position":
                await self._go_back()
            elif batch.ending:
                return self._result(batch.ending, batch.problem)

    async def _send(self, batch: UploadBatch) -> PutReply:
        """Send *load*; ends early when the server has more of the file than that."""
        answer = self._progressed(await self._put(batch, ""))
        if answer.status != b"full":
            return answer
        flag = AutoResetEvent()
        with self._store.notifier.heard(self._store.unit, flag) as channel:
            deadline = Deadline(self._timeout_s)
            while answer.status == b"full":
                if answer.count > batch.at:
                    batch, deadline = batch.after(answer.count), Deadline(self._timeout_s)
                elif deadline.passed:
                    await self._give_up()
                else:
                    await flag.wait(min(RECHECK_S, deadline.left_s()))
                part = batch.part(_fitting_count(batch, answer.room))
                answer = self._progressed(await self._put(part, channel))
                if part is not batch and answer.count <= batch.at + len(batch.chunks):
                    answer = msgspec.structs.replace(answer, status=b"full")  # there is more
        return answer

    async def _put(self, batch: UploadBatch, waiter: str) -> PutReply:
        reply = await self._store.call(
            PUT,
            self._store.packed_options if not self._epoch else b"",
            self._epoch,
            self._store.channel,
            waiter,
            self._name,
            batch.at,
            batch.before,
            batch.size,
            batch.ending,
            batch.problem,
            DIGEST_AT,
            *batch.chunks,
            kind=CallKind.BULK,
        )
        if len(reply) < len(PutReply.__struct_fields__):
            self._store.refuse(reply)
        with decoding(keys.files(self._store.unit)):
            answer = PutReply.of(reply)
        self._epoch = answer.epoch
        if answer.status in (b"sealed", b"too_many_files"):
            self._store.refuse(reply)
        if answer.status == b"differs":
            raise FileDiffers(self._store.name, self._shown_name)
        return answer

    def _progressed(self, answer: PutReply) -> PutReply:
        """*answer*, with its progress told."""
        self._sent = self._sent or answer.status in (b"stored", b"full")
        if self._on_progress is not None:
            self._on_progress(self._shown_name, answer.size)
        return answer

    async def _go_back(self) -> None:
        """Read the file again from its beginning: the server has lost some of what was sent."""
        if not await in_thread(self._upload.rewind):
            raise FeedLost(self._store.name)

    async def _catch_up(self, answer: PutReply) -> None:
        """Go to where the server is, if what it has is what is read here."""
        while (ahead := answer.count - self._upload.index) > 0:
            if not await in_thread(self._upload.skip, min(ahead, WINDOW)):
                break
        if self._upload.digest != answer.digest:
            raise FileDiffers(self._store.name, self._shown_name)

    async def _compared(self, answer: PutReply) -> PublishedFile:
        """What was published already, if it is the same."""
        while await in_thread(self._upload.skip, WINDOW):
            pass
        same = (self._upload.digest, self._upload.size) == (answer.digest, answer.size)
        ending = "damaged" if self._upload.problem else "whole"
        if same and answer.state == ending.encode():
            return self._result(ending, self._upload.problem)
        if answer.state == b"damaged" and (await self._store.status()).state != "open":
            raise FeedSealed(self._store.name, self._shown_name)
        raise FileDiffers(self._store.name, self._shown_name)

    def _result(self, ending: str, problem: str) -> PublishedFile:
        if ending == "damaged":
            raise DamagedFile(self._store.name, self._shown_name, problem)
        digest = self._upload.digest
        return PublishedFile(self._shown_name, self._upload.size, digest.decode(), self._sent)

    async def _give_up(self) -> None:
        status = await self._store.status()
        raise BudgetExceeded(
            self._store.name,
            self._shown_name,
            status.budget,
            self._timeout_s or 0.0,
            status.holders,
        )

    @property
    def _shown_name(self) -> str:
        return decoded_name(self._name)


def _fitting_count(batch: UploadBatch, room: int) -> int:
    """How many chunks there is room for; one at least, as room may be made for it."""
    count, size = 0, 0
    for chunk in batch.chunks:
        size += len(chunk)
        if count and size > room:
            break
        count += 1
    return count
