"""Files of a feed, as a consumer reads them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ...core.clock import since_boot
from ...core.concurrency._async.cancellation import shielded
from ...core.concurrency._async.primitives import AutoResetEvent
from ...core.concurrency._async.user_calls import in_thread
from ...core.renewer import Lease
from ...core.script import Script
from ...core.stored import decoding
from ...errors import DamagedFile, FileTaken, HoldfastError
from .. import keys
from ..assignment import Assignment, ChunkChain, FileView
from ..attempt import reason_of
from ..chunk import BLOCK, EMPTY, WINDOW
from ..lines import (
    MAX_LINE,
    Block,
    LineProgress,
    LineSplitter,
    RawSplitter,
    checked_max_line,
    checked_offset,
    lines_of,
)
from ..partial_file import PartialFile
from .feed_store import AsyncFeedStore
from .session import AsyncSession

READ: Final = Script.load("holdfast.files", "read")
SETTLE: Final = Script.load("holdfast.files", "settle")

LOOK_S: Final = 5.0
"""Seconds between two looks of a reader that waits for more of a file."""

MAX_UNREPORTED: Final = 4
"""Windows that are read between two reports to the server, while more is there."""


class AsyncFeedFile:
    """Hold one file for a consumer; a context, whose end settles the file.

    When the block ends normally, the whole file is acknowledged and does not come again, read to
    its end or not. On an exception the file is given back. It comes again from the acknowledged
    offset: three times at once, then after 1, 2, 4 seconds and so on, up to 32.

    - After ten errors in a row without progress it comes again only after `FileFeed.retry`.
    - An exception that is no error (Ctrl-C, a cancelled task), or a file that was dropped without
      a `with` block, causes the same pauses, but never sets the file aside.
    - A `DamagedFile` about this file settles it too: another attempt would end in the same way.

    After a crash, bytes that were not acknowledged come again. Only a file that is larger than half
    of the budget cannot be kept so long: acknowledge as you go, or use `save_to`.

    Made by `AsyncConsumer.files`.

    Attributes:
        id: the same for all readers of this file, and no other file has it; no blanks.
        name: the name under which it was published; any text.
        offset: bytes that were acknowledged before; reading begins there.
    """

    _lease: Lease | None = None  # as long as it is held here

    def __init__(
        self, store: AsyncFeedStore, session: AsyncSession, assignment: Assignment, asked_at: float
    ) -> None:
        self.id: Final = assignment.file_id
        self.name: Final = assignment.name
        self.offset: Final = assignment.acked
        self._store = store
        self._assignment = assignment
        self._session = session
        self._view = assignment.view
        self._acked = assignment.acked
        self._read = assignment.acked
        self._position = assignment.acked
        self._progress: LineProgress | None = None
        self._overlong = 0
        self._keep = False
        self._unreported = 0
        self._keep_lease(asked_at)

    def __del__(self) -> None:
        # A reader that was interrupted before the end of its block must not keep the file.
        self._drop_lease()

    def __repr__(self) -> str:
        return f"AsyncFeedFile({self._store.name!r}, {self.name!r})"

    @property
    def size(self) -> int | None:
        """Return its unpacked bytes; None as long as it is being published."""
        return None if self._view.state == "open" else self._view.size

    @property
    def position(self) -> int:
        """Return the offset up to which its bytes were handed out."""
        return self._position if self._progress is None else self._progress.position

    @property
    def overlong(self) -> int:
        """Return how many lines up to here were left out because they are too long."""
        return self._overlong

    async def lines(self, *, max_line: int = MAX_LINE) -> AsyncIterator[bytes]:
        """Yield its lines without their ends (a newline, with or without a carriage return).

        Args:
            max_line: bytes of a line at most, up to 128 KiB; longer ones are left out and counted
                in `overlong`.

        Raises:
            DamagedFile: The file is damaged. The lines before the damage were yielded.
            FileTaken: The consumer does not hold it any more.
        """
        async for block in self.blocks(max_line=max_line):
            self._progress = progress = LineProgress(block)
            for progress.done, line in enumerate(lines_of(block.data), 1):
                yield line
            self._set_position(block.end)

    async def blocks(
        self,
        *,
        start: int | None = None,
        max_line: int = MAX_LINE,
        raw: bool = False,
        keep: bool = False,
    ) -> AsyncIterator[Block]:
        """Yield its lines in blocks of about a mebibyte, which is faster than line by line.

        Args:
            start: where to begin, an offset at which a line begins; by default `offset`.
            max_line: as in `lines`; a longer one is a block of its own, without data.
            raw: all bytes, wherever lines end.
            keep: keep all on the server until it is acknowledged, however large the file is. An
                empty block then means: more comes later, perhaps only after an `ack`.

        Raises:
            DamagedFile, FileTaken: as `lines`.
        """
        at = self.offset if start is None else checked_offset(start, "start")
        splitter = RawSplitter(at) if raw else LineSplitter(at, checked_max_line(max_line))
        self._keep = keep
        async for data in self._data(at):
            if keep and not data:
                yield Block(self.position, self.position, b"")
            for block in splitter.cut(data):
                self._hand_out(block)
                yield block
            self._read_to(splitter.needed)
        for block in splitter.finish():
            self._hand_out(block)
            yield block

    async def ack(self, upto: int | None = None) -> None:
        """Acknowledge what comes before *upto*: the next reader begins there. Harmless to repeat.

        Args:
            upto: an offset at which a line begins; by default the end of what was handed out.

        Raises:
            FileTaken: The consumer does not hold it any more.
        """
        upto = self.position if upto is None else checked_offset(upto, "upto")
        self._acked = max(self._acked, upto)
        await self._report_progress(0)

    async def save_to(self, folder: str | os.PathLike[str]) -> Path:
        """Write it into *folder*, unpacked, under its name: in one step when it is whole.

        A name may hold slashes, which make folders; it never leads out of *folder*. What was
        written before a crash is taken up again.

        Returns:
            The path of the file.

        Raises:
            DamagedFile: The file is damaged; nothing was written under its name.
            FileTaken: The consumer does not hold it any more.
            OSError: It cannot be written.
        """
        file_id = f"{self._store.unit}\0{self.id}"
        partial = await in_thread(PartialFile, Path(folder), self.name, file_id)
        try:
            size = await self._save(partial)
            path = await in_thread(partial.finish)
        except DamagedFile:
            await in_thread(partial.discard)
            raise
        finally:
            await in_thread(partial.close)
        self._set_position(size)
        return path

    async def _save(self, partial: PartialFile) -> int:
        """Write what is missing; return how many bytes the file has."""
        chain = ChunkChain(partial.count, partial.digest)
        try:
            async for blocks in self._windows(chain):
                await in_thread(partial.write, blocks)
                self._read_to(chain.index * BLOCK)
        except DamagedFile:
            # Perhaps only the saved part is damaged: then read the whole file again.
            if not partial.count or chain.index > partial.count or self._view.floor:
                raise
            await in_thread(partial.restart)
            return await self._save(partial)
        return chain.size

    async def __aenter__(self) -> Self:
        self._session.enter(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                await shielded(self._finish())
            elif not (isinstance(error, FileTaken) and self._is_about_this(error)):
                with suppress(
                    HoldfastError
                ):  # its lease ends by itself; the error of the block matters more
                    await shielded(self._settle(self._outcome_of(error), error))
        finally:
            self._drop_lease()
            await self._session.exit(self)

    def _keep_lease(self, asked_at: float) -> None:
        """Renew its lease from now on."""
        self._lease = lease = self._session.hold(self._assignment, asked_at)
        self._store.renewer.keep(lease)

    def _drop_lease(self) -> None:
        """Stop renewing its lease, whatever the server knows."""
        if self._lease is not None:
            self._store.renewer.drop(self._lease)
        self._lease = None

    def _outcome_of(self, error: BaseException) -> str:
        """Return the outcome for the file of a block that *error* ended."""
        if isinstance(error, DamagedFile) and self._is_about_this(error):
            return "damaged"
        return "failed" if isinstance(error, Exception) else "returned"

    def _is_about_this(self, error: DamagedFile | FileTaken) -> bool:
        """Return whether *error* is about this file, not about another one."""
        return (error.feed, error.file) == (self._store.name, self.name)

    async def _finish(self, op_id: str | None = None) -> Any:
        """Report that the whole file is done."""
        reply = await self._settle("whole", op_id=op_id)
        if reply[0] != b"settled":
            self._refuse(reply)
        return reply

    async def _settle(
        self, outcome: str, error: BaseException | None = None, *, op_id: str | None = None
    ) -> Any:
        assignment = self._assignment
        return await self._store.settle(
            SETTLE,
            [
                assignment.epoch,
                assignment.session,
                assignment.number,
                assignment.token,
                outcome,
                self._acked,
                self._store.channel,
                reason_of(error),
            ],
            again=self._finish,
            op_id=op_id,
        )

    async def _data(self, start: int) -> AsyncIterator[bytes]:
        """Yield its bytes from *start* on, a window at a time."""
        skip = start % BLOCK
        async for blocks in self._windows(
            ChunkChain(start // BLOCK, None if start >= BLOCK else EMPTY)
        ):
            data = b"".join(blocks)
            yield data[skip:] if skip else data
            skip = 0 if blocks else skip

    async def _windows(self, chain: ChunkChain) -> AsyncIterator[list[bytes]]:
        """Yield the content of its chunks from *chain* on; wait for more until it is whole.

        With `keep`, yield nothing before waiting for an `ack`: the publisher may need the room.
        """
        while True:
            view = self._view
            if chain.index < view.floor:
                raise self._chunks_dropped()
            if chain.index < view.count:
                blocks = await self._fetched(chain, min(WINDOW, view.count - chain.index))
                self._unreported += 1
                yield blocks
                if view.state == "whole" and chain.index == view.count:
                    break
                if self._unreported == MAX_UNREPORTED:  # also by no acknowledgement
                    await self._report_progress(chain.index)
            elif view.state != "open":
                break
            elif not await self._report_progress(chain.index):
                if self._keep and self._acked < self.position:
                    yield []
                await self._wait_for_change(chain.index)
        self._check_end(chain)

    def _check_end(self, chain: ChunkChain) -> None:
        """Raise `DamagedFile` unless the file is whole and was read as it was published."""
        if self._view.state == "damaged":
            raise self._damaged(self._view.problem)
        try:
            chain.finish(self._view)
        except ValueError as error:
            raise self._damaged(str(error)) from None

    def _read_to(self, offset: int) -> None:
        """Note that the server may drop what comes before *offset*."""
        if not self._keep:
            self._read = max(self._read, offset)

    async def _fetched(self, chain: ChunkChain, count: int) -> list[bytes]:
        """Return the content of the next *count* chunks, which are there, or were."""
        chunks: list[bytes | None] = [self._view.small]
        if chunks == [None]:
            chunks = await self._store.chunks(self._assignment.number, chain.index, count)
        if None in chunks:
            await self._report_progress(chain.index)
            if chain.index < self._view.floor:
                raise self._chunks_dropped()
        try:
            return await in_thread(chain.take, chunks)
        except ValueError as error:
            await self._report_progress(
                chain.index
            )  # if the file is lost, these may be chunks of another one
            raise self._damaged(str(error)) from None

    async def _report_progress(self, index: int) -> bool:
        """Report the progress, refresh the view; return False if nothing follows chunk *index*."""
        assignment, asked_at = self._assignment, since_boot()
        await self._session.live()
        reply = await self._store.call(
            READ,
            assignment.epoch,
            assignment.session,
            assignment.number,
            assignment.token,
            self._acked,
            self._read,
            durable=False,  # after a loss it is read again
        )
        if reply[0] != b"view":
            self._refuse(reply)
        with decoding(keys.files(self._store.unit)):
            self._view = view = FileView.of(reply[1:])
        self._unreported = 0
        if self._lease is not None and self._lease.lost:  # by the clock here, not by the server
            self._keep_lease(asked_at)
        return view.count > index or view.state != "open"

    async def _wait_for_change(self, index: int) -> None:
        """Wait until it has more than *index* chunks, or is complete."""
        flag = AutoResetEvent()
        with self._store.notifier.follow([self._store.unit], flag):
            while not await self._report_progress(index):
                await flag.wait(LOOK_S)

    def _hand_out(self, block: Block) -> None:
        self._overlong += block.overlong
        self._set_position(block.end)

    def _set_position(self, offset: int) -> None:
        """Note that everything up to *offset* was handed out."""
        self._position, self._progress = offset, None

    def _chunks_dropped(self) -> DamagedFile:
        return self._damaged(
            f"its first {self._view.floor * BLOCK:,} bytes are gone: they were not acknowledged "
            "when their room was needed"
        )

    def _damaged(self, problem: str) -> DamagedFile:
        return DamagedFile(self._store.name, self.name, problem)

    def _refuse(self, reply: Any) -> None:
        if reply[0] == b"file_taken":
            raise FileTaken(self._store.name, self.name)
        self._store.refuse(reply)
