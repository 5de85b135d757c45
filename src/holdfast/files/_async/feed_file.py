"""Files of a feed, as a consumer reads them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ...core.concurrency._async.cancellation import shielded
from ...core.concurrency._async.user_calls import in_thread
from ...core.script import Script
from ...errors import DamagedFile, FileTaken, HoldfastError
from ..assignment import Assignment, ChunkChain, reason_of
from ..chunk import BLOCK
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
from .chunk_reader import AsyncChunkReader
from .feed_store import AsyncFeedStore
from .session import AsyncSession

SETTLE: Final = Script.load("holdfast.files", "settle")


class AsyncFeedFile:
    """Hold one file for a consumer. It is a context: its end settles the file.

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

    def __init__(
        self, store: AsyncFeedStore, session: AsyncSession, assignment: Assignment, asked_at: float
    ) -> None:
        self.id: Final = assignment.file_id
        self.name: Final = assignment.name
        self.offset: Final = assignment.acked
        self._store = store
        self._assignment = assignment
        self._session = session
        self._progress: LineProgress | None = None
        self._overlong = 0
        self._reader = AsyncChunkReader(store, session, assignment, asked_at)

    def __repr__(self) -> str:
        return f"AsyncFeedFile({self._store.name!r}, {self.name!r})"

    @property
    def size(self) -> int | None:
        """Return its unpacked bytes; None as long as it is being published."""
        view = self._reader.view
        return None if view.state == "open" else view.size

    @property
    def position(self) -> int:
        """Return the offset up to which its bytes were handed out."""
        return self._reader.position if self._progress is None else self._progress.position

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
        self._reader.keep = keep
        self._set_position(at)
        async for data in self._reader.data(at):
            if not data:
                yield Block(self.position, self.position, b"")
            for block in splitter.cut(data):
                self._hand_out(block)
                yield block
            self._reader.read_to(splitter.needed)
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
        self._reader.acked = max(self._reader.acked, upto)
        await self._reader.report_progress()

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
            async for blocks in self._reader.windows(chain):
                await in_thread(partial.write, blocks)
                self._reader.read_to(chain.index * BLOCK)
        except DamagedFile:
            # Perhaps only the saved part is damaged: then read the whole file again.
            if not partial.count or chain.index > partial.count or self._reader.view.floor:
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
                # If the call fails, the lease ends by itself; the error of the block matters more.
                with suppress(HoldfastError):
                    await shielded(self._settle(self._outcome_of(error), error))
        finally:
            self._reader.release()
            await self._session.exit(self)

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
            self._reader.refuse(reply)
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
                self._reader.acked,
                self._store.channel,
                reason_of(error),
            ],
            repeat=self._finish,
            op_id=op_id,
        )

    def _hand_out(self, block: Block) -> None:
        self._overlong += block.overlong
        self._set_position(block.end)

    def _set_position(self, offset: int) -> None:
        """Note that everything up to *offset* was handed out."""
        self._reader.position, self._progress = offset, None
