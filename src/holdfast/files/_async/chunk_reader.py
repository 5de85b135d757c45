"""Read the chunks of one file for the consumer that holds the file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from ...core.clock import since_boot
from ...core.concurrency._async.primitives import AutoResetEvent
from ...core.concurrency._async.user_calls import in_thread
from ...core.renewer import RenewedLease
from ...core.script import Script
from ...core.stored import decoding
from ...errors import DamagedFile, FileTaken
from .. import keys
from ..assignment import Assignment, ChunkChain, FileView
from ..chunk import BLOCK, EMPTY, WINDOW
from .feed_store import AsyncFeedStore
from .session import AsyncSession

READ: Final = Script.load("holdfast.files", "read")

POLL_S: Final = 5.0
"""Seconds between two requests of a reader that waits for more of a file."""

MAX_UNREPORTED: Final = 4
"""Windows of chunks that are read between two progress reports to the server."""


class AsyncChunkReader:
    """Read the chunks of a file, report the progress, and hold the lease of the file.

    Attributes:
        view: state of the file, as the server reported it last.
        acked: bytes that the consumer acknowledged.
        position: offset after the bytes that the user has got.
        keep: whether the server must keep all bytes until they are acknowledged.

    Args:
        store: calls the server.
        session: session to which the file is assigned.
        assignment: the file.
        asked_at: time just before the claim was sent, by `since_boot`.
    """

    _lease: RenewedLease | None = None  # set while this reader holds the file

    def __init__(
        self, store: AsyncFeedStore, session: AsyncSession, assignment: Assignment, asked_at: float
    ) -> None:
        self.view = assignment.view
        self.acked = self.position = assignment.acked
        self.keep = False
        self._store = store
        self._session = session
        self._assignment = assignment
        self._read = assignment.acked
        self._unreported = 0
        self._keep_lease(asked_at)

    def __del__(self) -> None:
        # Stop the renewal if the user's `with` block was interrupted, because otherwise no other
        # consumer would get the file while this process lives.
        self.release()

    def release(self) -> None:
        """Stop renewing the lease of the file, without a call to the server."""
        if self._lease is not None:
            self._store.renewer.drop(self._lease)
        self._lease = None

    def read_to(self, offset: int) -> None:
        """Allow the server to drop the bytes before *offset* in a file that is too large."""
        if not self.keep:
            self._read = max(self._read, offset)

    async def data(self, start: int) -> AsyncIterator[bytes]:
        """Yield the bytes from offset *start* on, a window of chunks at a time.

        With `keep`, yield empty bytes where `windows` yields an empty list.
        """
        skip = start % BLOCK
        chain = ChunkChain(start // BLOCK, None if start >= BLOCK else EMPTY)
        async for blocks in self.windows(chain):
            if not blocks:
                yield b""
            elif data := b"".join(blocks)[skip:]:
                yield data
            skip = 0 if blocks else skip

    async def windows(self, chain: ChunkChain) -> AsyncIterator[list[bytes]]:
        """Yield the content of the chunks after *chain*; wait for more until the file is complete.

        With `keep`, yield an empty list before a wait if the user has not acknowledged all bytes up
        to `position`. The user can then acknowledge them, which frees their part of the budget: the
        publisher may be waiting for it.
        """
        while True:
            view = self.view
            if chain.index < view.floor:
                raise self._chunks_dropped()
            if chain.index < view.count:
                blocks = await self._fetched(chain, min(WINDOW, view.count - chain.index))
                self._unreported += 1
                yield blocks
                if view.state == "whole" and chain.index == view.count:
                    break
                if self._unreported == MAX_UNREPORTED:  # `report_progress` resets it
                    await self.report_progress(chain.index)
            elif view.state != "open":
                break
            elif not await self.report_progress(chain.index):
                if self.keep and self.acked < self.position:
                    yield []
                await self._wait_for_change(chain.index)
        self._check_end(chain)

    async def report_progress(self, index: int = 0) -> bool:
        """Report to the server what was read and acknowledged; update `view` from its reply.

        Args:
            index: number of chunks that the caller has read.

        Returns:
            False if the caller has to wait for the next chunk; True if there is one, or if the file
            has ended.

        Raises:
            FileTaken: The consumer does not hold the file any more.
        """
        assignment, asked_at = self._assignment, since_boot()
        await self._session.live()
        reply = await self._store.call(
            READ,
            assignment.epoch,
            assignment.session,
            assignment.number,
            assignment.token,
            self.acked,
            self._read,
            durable=False,  # if a failover loses the progress, the next call reports it again
        )
        if reply[0] != b"view":
            self.refuse(reply)
        with decoding(keys.files(self._store.unit)):
            self.view = view = FileView.of(reply[1:])
        self._unreported = 0
        if self._lease is not None and self._lease.lost:
            # The lease ended by the local clock, but the server has just confirmed it.
            self._keep_lease(asked_at)
        return view.count > index or view.state != "open"

    def damaged(self, problem: str) -> DamagedFile:
        """Return the error for this file with *problem*."""
        return DamagedFile(self._store.name, self._assignment.name, problem)

    def refuse(self, reply: Any) -> None:
        """Raise the error for a *reply* that refuses a call."""
        if reply[0] == b"file_taken":
            raise FileTaken(self._store.name, self._assignment.name)
        self._store.refuse(reply)

    def _keep_lease(self, asked_at: float) -> None:
        """Let the renewer renew the lease of the file from now on."""
        self._lease = lease = self._session.hold(self._assignment, asked_at)
        self._store.renewer.keep(lease)

    def _check_end(self, chain: ChunkChain) -> None:
        """Raise `DamagedFile` unless the file was published whole and *chain* has its digest."""
        if self.view.state == "damaged":
            raise self.damaged(self.view.problem)
        try:
            chain.finish(self.view)
        except ValueError as error:
            raise self.damaged(str(error)) from None

    async def _fetched(self, chain: ChunkChain, count: int) -> list[bytes]:
        """Return the content of the next *count* chunks, which exist according to `view`."""
        chunks: list[bytes | None] = [self.view.small]
        if chunks == [None]:
            chunks = await self._store.chunks(self._assignment.number, chain.index, count)
        if None in chunks:
            await self.report_progress(chain.index)
            if chain.index < self.view.floor:
                raise self._chunks_dropped()
        try:
            return await in_thread(chain.take, chunks)
        except ValueError as error:
            # The chunks may be those of another file, if another session has got the file or the
            # server lost the feed. If so, this call raises FileTaken or FeedLost.
            await self.report_progress(chain.index)
            raise self.damaged(str(error)) from None

    async def _wait_for_change(self, index: int) -> None:
        """Wait until the file has more than *index* chunks, or is complete."""
        flag = AutoResetEvent()
        with self._store.notifier.follow([self._store.unit], flag):
            while not await self.report_progress(index):
                await flag.wait(POLL_S)

    def _chunks_dropped(self) -> DamagedFile:
        return self.damaged(
            f"its first {self.view.floor * BLOCK:,} bytes were dropped before they were "
            "acknowledged, because the publisher needed their room"
        )
