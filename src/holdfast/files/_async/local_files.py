"""Files of this machine, for whoever reads those of a feed as well."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ...core.concurrency._async.waiting import in_thread
from ...errors import DamagedFile
from ..folders import walked
from ..lines import MAX_LINE, Block, LineSplitter, checked_max_line, checked_offset
from ..marks import Tail, length_of, marked
from ..source import MAX_UNPACKED, Source, SourceDamaged, packing_of, published_name

PathLike = str | os.PathLike[str]

PIECE: Final = 33 << 20
"""Read at a time: its whole lines are as much as a tally counts at once."""

HEAD: Final = 4096
"""Of the first line so much is of the id of a file."""

MARKED: Final = 64 << 10
"""Bytes at the beginning, and before an offset, by which a file is known again."""


class AsyncLocalFiles:
    """Files of this machine, read like those that a consumer of a feed gets.

    `.gz` and `.zst` are unpacked. Where a folder is given, all regular files in it and in the
    folders within are meant, and are called by their paths from there on.

    A file is known again by its name, its first line, its first 64 KiB, and the 64 KiB before the
    place up to which it was counted: it may grow meanwhile, or be packed, and what was counted of
    it is not counted again. Changes between these two places are not noticed. When its name is
    given to another one, as by a rotation, or it is truncated and written anew, that one is new,
    also if it begins with the same line. A file that gets another name is new as well.

    Args:
        paths: a file or a folder, or several.
        growing: whether the files may still be written: then a last line without an end is left for
            the next time, as more of it may come.
        max_unpacked: bytes that a compressed file may unpack to.
    """

    def __init__(
        self,
        paths: PathLike | Iterable[PathLike],
        *,
        growing: bool = False,
        max_unpacked: int = MAX_UNPACKED,
    ) -> None:
        options = [paths] if isinstance(paths, str | os.PathLike) else paths
        self._paths = [Path(path) for path in options]
        self._growing = growing
        self._max_unpacked = max_unpacked

    def __repr__(self) -> str:
        return f"AsyncLocalFiles({', '.join(repr(str(path)) for path in self._paths)})"

    async def files(self) -> AsyncIterator[AsyncLocalFile]:
        """One after the other; each is a context."""
        for name, path in await in_thread(lambda: list(self._found())):
            yield AsyncLocalFile(path, name, self._growing, self._max_unpacked)

    def _found(self) -> Iterator[tuple[str, Path]]:
        """Name and path of each; where several were given, all of the path is the name."""
        several = len(self._paths) > 1
        for path in self._paths:
            if not path.is_dir():
                yield path.as_posix() if several else path.name, path
                continue
            failed: dict[str, Exception] = {}
            for inside in walked(path, failed):
                yield _name(inside, None if several else path), inside
            for name in failed:  # opening it says what is wrong
                yield _name(path / name, None if several else path), path / name


def _name(path: Path, root: Path | None) -> str:
    return (path if root is None else path.relative_to(root)).as_posix()


def _id(name: bytes, line: bytes) -> str:
    return hashlib.blake2b(name + b"\0" + line, digest_size=16).hexdigest()


class AsyncLocalFile:
    """One file of this machine, while it is read.

    Made by `AsyncLocalFiles.files`.

    Attributes:
        id: tells these contents from others; known once it is open.
        unfinished_id: the id as long as its first line has no end.
        name: what it is called.
        offset: where reading begins, always 0.
    """

    def __init__(self, path: Path, name: str, growing: bool, max_unpacked: int) -> None:
        self.id = self.unfinished_id = ""
        self.name: Final = name
        self.offset: Final = 0
        self._path = path
        self._growing = growing
        self._max_unpacked = max_unpacked
        self._source: Source | None = None
        self._problem = ""
        self._head = b""
        self._found = Tail(0, b"")

    def __repr__(self) -> str:
        return f"AsyncLocalFile({self.name!r})"

    async def blocks(
        self, *, start: int | None = None, max_line: int = MAX_LINE, keep: bool = False
    ) -> AsyncIterator[Block]:
        """Its lines, some mebibytes at a time.

        Args:
            start: where to begin, an offset at which a line begins. Within a line that was the last
                one and had no end, its rest is left out: that line was read already.
            max_line: bytes of a line at most; a longer one is a block of its own, without data.
            keep: as of a feed; a file stays anyway.

        Raises:
            DamagedFile: after the lines before the damage; or it ends before *start*.
        """
        del keep
        begin = checked_offset(start or 0, "start")
        within = await in_thread(self._start_at, begin)
        splitter = LineSplitter(begin, checked_max_line(max_line), within=within)
        while data := await in_thread(self._more, PIECE, Source.whole_lines):
            for block in splitter.cut(data):
                yield block
        if self._problem:
            raise DamagedFile(None, self.name, self._problem)
        for block in () if self._growing else splitter.finish():
            yield block

    async def ack(self, upto: int | None = None) -> None:
        """Nothing: a file stays where it is."""
        del upto

    def mark(self, offset: int, last: bytes) -> str:
        """Return a digest of its first bytes and of those before *offset*.

        Args:
            offset: where it is read to.
            last: its bytes before that; those that were found by `matching` are added.
        """
        if offset - len(last) == self._found.end:
            last = self._found.data + last
        return marked(self._head[:offset], last[-MARKED:])

    async def matching(self, marks: Sequence[tuple[int, str]]) -> int | None:
        """Return which of these offsets and marks is of this file; of several the furthest.

        Raises:
            DamagedFile: none is, and it cannot be read up to the last of them.
        """
        return await in_thread(self._matching, marks)

    def _matching(self, marks: Sequence[tuple[int, str]]) -> int | None:
        if self._source is None:
            return None
        spots = {(offset, length_of(mark)) for offset, mark in marks}
        tails, problem = self._source.tails(sorted(spots))
        fitting = [
            (offset, n)
            for n, (offset, mark) in enumerate(marks)
            if (data := tails.get((offset, length_of(mark)))) is not None
            and mark in ("", marked(self._head[:offset], data))
        ]
        if not fitting and problem:
            raise DamagedFile(None, self.name, problem)
        if not fitting:
            return None
        offset, n = max(fitting)
        self._found = Tail(offset, tails[offset, length_of(marks[n][1])])
        return n

    async def __aenter__(self) -> Self:
        await in_thread(self._open)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._source is not None:
            await in_thread(self._source.close)

    def _open(self) -> None:
        packing = packing_of(self.name)
        try:
            self._source = Source(self._path, packing, self._max_unpacked)
        except (OSError, ValueError) as error:
            raise DamagedFile(None, self.name, f"it cannot be read: {error}") from None
        try:
            self._head = self._more(MARKED)
            line, end, _ = self._head[:HEAD].partition(b"\n")
        except ModuleNotFoundError:  # of what unpacks it
            self._source.close()
            raise
        name = published_name(self.name, packing).encode("utf-8", "surrogateescape")
        self.unfinished_id = _id(name, b"")
        # A line that may still grow is no part of the id.
        self.id = _id(name, line if end or len(line) == HEAD else b"")

    def _start_at(self, offset: int) -> bool:
        """Go to *offset*; whether that is within a line."""
        self._problem, before = "", b""
        try:
            if self._source is not None:
                before = self._source.start_at(offset)
        except (SourceDamaged, OSError) as error:
            self._problem = str(error)
        return before not in (b"", b"\n")

    def _more(self, size: int, read: Callable[[Source, int], bytes] = Source.piece) -> bytes:
        """What *read* says are the next *size* bytes; none at the end, and after what is wrong."""
        if self._source is None or self._problem:
            return b""
        try:
            return read(self._source, size)
        except (SourceDamaged, OSError) as error:
            self._problem = str(error)
            return self._source.rest(size)
