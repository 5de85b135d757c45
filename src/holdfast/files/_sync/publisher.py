# Generated from _async/publisher.py by tools/unasync.py: edit that, then run `make sync`.
"""Publish one file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from ...core._sync.caller import CallKind
from ...core.clock import Deadline
from ...core.concurrency._sync.primitives import AutoResetEvent
from ...core.concurrency._sync.user_calls import in_thread
from ...core.notifier import RECHECK_S
from ...core.script import Script
from ...core.stored import decoding
from ...errors import BudgetExceeded, DamagedFile, FeedLost, FeedSealed, FileDiffers
from .. import keys
from ..chunk import DIGEST_AT, WINDOW
from ..file_reader import decoded_name
from ..states import PublishedFile
from ..upload import PutReply, Upload, UploadBatch
from .feed_store import FeedStore

PUT: Final = Script.load("holdfast.files", "put")


class FilePublisher:
    """Send one file.

    Chunks that the server has already are not sent again; only their digest is compared. The server
    has some if an earlier publisher was killed, or if another one sends the same file.

    Args:
        store: calls the server.
        name: name of the file, encoded.
        upload: the chunks of the file.
        timeout_s: longest wait in seconds each time that the budget is used up; None: no limit.
        on_progress: called with the name and the number of published bytes.
    """

    def __init__(
        self,
        store: FeedStore,
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

    def run(self) -> PublishedFile:
        """Send the whole file.

        Raises:
            BudgetExceeded, DamagedFile, FileDiffers, FeedSealed, FeedAborted, FeedLost.
        """
        while True:
            batch = in_thread(self._upload.next_batch)
            reply = self._send(batch)
            if reply.status == b"published":
                return self._compared(reply)
            if reply.count > self._upload.index:
                self._catch_up(reply)
            elif reply.status == b"wrong_position":
                self._go_back()
            elif batch.ending:
                return self._result(batch.ending, batch.problem)

    def _send(self, batch: UploadBatch) -> PutReply:
        """Send *batch*, and wait for room in the budget. End early if the server already has chunks
        after the batch."""
        reply = self._progressed(self._put(batch, ""))
        if reply.status != b"full":
            return reply
        flag = AutoResetEvent()
        with self._store.notifier.listen(self._store.unit, flag) as channel:
            deadline = Deadline(self._timeout_s)
            while reply.status == b"full":
                if reply.count > batch.at:
                    batch, deadline = batch.after(reply.count), Deadline(self._timeout_s)
                elif deadline.passed:
                    self._give_up()
                else:
                    flag.wait(min(RECHECK_S, deadline.left_s()))
                part = batch.part(_fitting_count(batch, reply.room))
                reply = self._progressed(self._put(part, channel))
                if part is not batch and reply.count <= batch.at + len(batch.chunks):
                    # Only a part was sent: wait for room for the rest.
                    reply = msgspec.structs.replace(reply, status=b"full")
        return reply

    def _put(self, batch: UploadBatch, waiter: str) -> PutReply:
        values = self._store.call(
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
        if len(values) < len(PutReply.__struct_fields__):
            self._store.refuse(values)
        with decoding(keys.files(self._store.unit)):
            reply = PutReply.of(values)
        self._epoch = reply.epoch
        if reply.status in (b"sealed", b"too_many_files"):
            self._store.refuse(values)
        if reply.status == b"differs":
            raise FileDiffers(self._store.name, self._shown_name)
        return reply

    def _progressed(self, reply: PutReply) -> PutReply:
        """Report the progress in *reply*, and return *reply*."""
        self._sent = self._sent or reply.status in (b"stored", b"full")
        if self._on_progress is not None:
            self._on_progress(self._shown_name, reply.size)
        return reply

    def _go_back(self) -> None:
        """Read the file from the beginning again, because the server lost some of its chunks."""
        if not in_thread(self._upload.rewind):
            raise FeedLost(self._store.name)

    def _catch_up(self, reply: PutReply) -> None:
        """Skip the chunks that the server has. Raise FileDiffers if their digest differs."""
        while (ahead := reply.count - self._upload.index) > 0:
            if not in_thread(self._upload.skip, min(ahead, WINDOW)):
                break
        if self._upload.digest != reply.digest:
            raise FileDiffers(self._store.name, self._shown_name)

    def _compared(self, reply: PutReply) -> PublishedFile:
        """Return the result for a file that was published before, if it has the same content."""
        while in_thread(self._upload.skip, WINDOW):
            pass
        same = (self._upload.digest, self._upload.size) == (reply.digest, reply.size)
        ending = "damaged" if self._upload.problem else "whole"
        if same and reply.state == ending.encode():
            return self._result(ending, self._upload.problem)
        if reply.state == b"damaged" and (self._store.status()).state != "open":
            raise FeedSealed(self._store.name, self._shown_name)
        raise FileDiffers(self._store.name, self._shown_name)

    def _result(self, ending: str, problem: str) -> PublishedFile:
        if ending == "damaged":
            raise DamagedFile(self._store.name, self._shown_name, problem)
        digest = self._upload.digest
        return PublishedFile(self._shown_name, self._upload.size, digest.decode(), self._sent)

    def _give_up(self) -> None:
        status = self._store.status()
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
    """Return how many chunks of *batch* fit into *room* bytes.

    Return at least 1, because the server may drop other chunks to make room.
    """
    count, size = 0, 0
    for chunk in batch.chunks:
        size += len(chunk)
        if count and size > room:
            break
        count += 1
    return count
