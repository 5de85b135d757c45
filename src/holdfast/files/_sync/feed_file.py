# Generated from _async/feed_file.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the public class of files that a consumer reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ...core.concurrency._sync.cancellation import shielded
from ...core.concurrency._sync.user_calls import in_thread
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
from .chunk_reader import ChunkReader
from .feed_store import FeedStore
from .session import Session

SETTLE: Final = Script.load("holdfast.files", "settle")


class FeedFile:
    """Read one file for a consumer. Use it in a `with` block: the end of the block settles it.

    When the block ends normally, the whole file is acknowledged and is not assigned again, even if
    it was not read to its end. On an exception the file is given back and assigned again from the
    acknowledged offset: three times at once, then after 1, 2, 4 seconds and so on, up to 32.

    - After ten errors in a row without progress, the file is assigned again only after
      `FileFeed.retry`.
    - An exception that is no error (Ctrl-C, a cancelled task) causes the same pauses, but does not
      count as an error. The same holds for a file that was never used in a `with` block.
    - A `DamagedFile` about this file acknowledges it, because another attempt would fail again.
    - The end of the block in a forked child changes nothing.

    After a crash, bytes that were not acknowledged are delivered again. This is not possible for a
    file that is larger than half of the budget: acknowledge such a file as you go, or use
    `save_to`.

    Made by `Consumer.files`.

    Attributes:
        id: unique id of the file, the same for all readers, without blanks.
        name: the name under which the file was published; any text.
        offset: number of bytes that were acknowledged before; reading begins there.
    """

    def __init__(
        self, store: FeedStore, session: Session, assignment: Assignment, asked_at: float
    ) -> None:
        self.id: Final = assignment.file_id
        self.name: Final = assignment.name
        self.offset: Final = assignment.acked
        self._store = store
        self._assignment = assignment
        self._session = session
        self._progress: LineProgress | None = None
        self._overlong = 0
        self._reader = ChunkReader(store, session, assignment, asked_at)

    def __repr__(self) -> str:
        return f"FeedFile({self._store.name!r}, {self.name!r})"

    @property
    def size(self) -> int | None:
        """Return the number of unpacked bytes; None while the file is being published."""
        view = self._reader.view
        return None if view.state == "open" else view.size

    @property
    def position(self) -> int:
        """Return the offset after the last line or block that was yielded."""
        return self._reader.position if self._progress is None else self._progress.position

    @property
    def overlong(self) -> int:
        """Return how many lines were skipped so far because they are too long."""
        return self._overlong

    def lines(self, *, max_line: int = MAX_LINE) -> Iterator[bytes]:
        """Yield the lines without their line ends (a newline, with or without a carriage return).

        Args:
            max_line: maximum bytes of a line, up to 128 KiB. Longer lines are skipped and counted
                in `overlong`.

        Raises:
            DamagedFile: The file is damaged. The lines before the damage were yielded.
            FileTaken: The consumer does not hold the file any more.
        """
        for block in self.blocks(max_line=max_line):
            self._progress = progress = LineProgress(block)
            for progress.done, line in enumerate(lines_of(block.data), 1):
                yield line
            self._set_position(block.end)

    def blocks(
        self,
        *,
        start: int | None = None,
        max_line: int = MAX_LINE,
        raw: bool = False,
        keep: bool = False,
    ) -> Iterator[Block]:
        """Yield the lines in blocks of about a mebibyte, which is faster than line by line.

        Args:
            start: offset at which a line begins, to begin there; by default `offset`.
            max_line: as in `lines`. Each longer line yields an empty block.
            raw: whether to yield all bytes without regard to lines.
            keep: whether the server must keep all bytes until they are acknowledged, even if the
                file is too large. An empty block then means that more bytes will come, perhaps
                only after an `ack`.

        Raises:
            DamagedFile, FileTaken: as in `lines`.
        """
        at = self.offset if start is None else checked_offset(start, "start")
        splitter = RawSplitter(at) if raw else LineSplitter(at, checked_max_line(max_line))
        self._reader.keep = keep
        self._set_position(at)
        for data in self._reader.data(at):
            if not data:
                yield Block(self.position, self.position, b"")
            for block in splitter.cut(data):
                self._hand_out(block)
                yield block
            self._reader.read_to(splitter.needed)
        for block in splitter.finish():
            self._hand_out(block)
            yield block

    def ack(self, upto: int | None = None) -> None:
        """Acknowledge the bytes before *upto*: the next reader begins there. Harmless to repeat.

        Args:
            upto: an offset at which a line begins; by default `position`.

        Raises:
            FileTaken: The consumer does not hold the file any more.
        """
        upto = self.position if upto is None else checked_offset(upto, "upto")
        self._reader.acked = max(self._reader.acked, upto)
        self._reader.report_progress()

    def save_to(self, folder: str | os.PathLike[str]) -> Path:
        """Save the file, unpacked, in *folder*. It appears under its name only when it is complete.

        Slashes in the name make subfolders; no name leads out of *folder*. After a crash, saving
        continues where it ended.

        Returns:
            The path of the saved file.

        Raises:
            DamagedFile: The file is damaged; it was not saved.
            FileTaken: The consumer does not hold the file any more.
            OSError: The file cannot be written.
        """
        file_id = f"{self._store.unit}\0{self.id}"
        partial = in_thread(PartialFile, Path(folder), self.name, file_id)
        try:
            size = self._save(partial)
            path = in_thread(partial.finish)
        except DamagedFile:
            in_thread(partial.discard)
            raise
        finally:
            in_thread(partial.close)
        self._set_position(size)
        return path

    def _save(self, partial: PartialFile) -> int:
        """Write the chunks that are missing in *partial*. Return the size of the file."""
        chain = ChunkChain(partial.count, partial.digest)
        try:
            for blocks in self._reader.windows(chain):
                in_thread(partial.write, blocks)
                self._reader.read_to(chain.index * BLOCK)
        except DamagedFile:
            # Perhaps only the part saved before is damaged. If so, read the whole file again.
            if not partial.count or chain.index > partial.count or self._reader.view.floor:
                raise
            in_thread(partial.restart)
            return self._save(partial)
        return chain.size

    def __enter__(self) -> Self:
        self._session.enter(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if self._session.is_inherited:
                pass  # The process that this one was forked from settles the file.
            elif error is None:
                shielded(self._finish())
            elif not (isinstance(error, FileTaken) and self._is_about_this(error)):
                # Ignore an error of this call: the lease ends by itself, and the user needs the
                # error that ended the `with` block.
                with suppress(HoldfastError):
                    shielded(self._settle(self._outcome_of(error), error))
        finally:
            self._reader.release()
            self._session.exit(self)

    def _outcome_of(self, error: BaseException) -> str:
        """Return the outcome to report when *error* ended the `with` block of the user: `damaged`,
        `failed` or `returned`, as `lua/settle.lua` defines them."""
        if isinstance(error, DamagedFile) and self._is_about_this(error):
            return "damaged"
        return "failed" if isinstance(error, Exception) else "returned"

    def _is_about_this(self, error: DamagedFile | FileTaken) -> bool:
        """Return whether *error* is about this file, not about another one."""
        return (error.feed, error.file) == (self._store.name, self.name)

    def _finish(self, op_id: str | None = None) -> Any:
        """Report that the consumer has finished the whole file."""
        reply = self._settle("whole", op_id=op_id)
        if reply[0] != b"settled":
            self._reader.refuse(reply)
        return reply

    def _settle(
        self, outcome: str, error: BaseException | None = None, *, op_id: str | None = None
    ) -> Any:
        assignment = self._assignment
        return self._store.settle(
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
        self._reader.position, self._progress = offset, None
