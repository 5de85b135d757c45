"""Files of this machine, with the interface of the files of a feed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ...core.concurrency._async.user_calls import in_thread
from ...errors import DamagedFile
from ..folders import walked
from ..lines import MAX_LINE, Block, LineSplitter, checked_max_line, checked_offset
from ..marks import Tail, length_of, marked
from ..source import MAX_UNPACKED, Source, SourceDamaged, packing_of, published_name

PathLike = str | os.PathLike[str]

PIECE: Final = 33 << 20
"""Bytes that are read at a time: a tally counts so many at once."""

HEAD: Final = 4096
"""Bytes of the first line that belong to the id of a file."""

MARKED: Final = 64 << 10
"""Bytes at the beginning, and before an offset, by which a file is recognized."""


class AsyncLocalFiles:
    """Files of this machine, read like those that a consumer of a feed gets.

    `.gz` and `.zst` are unpacked. A folder stands for all regular files in it and in its
    subfolders. Their names are their paths from there on.

    A file is recognized by its name, its first line, its first 64 KiB, and the 64 KiB before the
    offset up to which it was counted. It may grow or be compressed meanwhile, and no line is
    counted again. Changes between these two parts are not noticed. Another file under the same name
    is a new one, even with the same first line: after a rotation, or after it was truncated and
    written again. A file that is renamed is new as well.

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
        """Yield the files, one after the other; each is a context."""
        for name, path in await in_thread(lambda: list(self._found())):
            yield AsyncLocalFile(path, name, self._growing, self._max_unpacked)

    def _found(self) -> Iterator[tuple[str, Path]]:
        """Yield name and path of each file; with several paths the name is the whole path."""
        several = len(self._paths) > 1
        for path in self._paths:
            if not path.is_dir():
                yield path.as_posix() if several else path.name, path
                continue
            failed: dict[str, Exception] = {}
            for inside in walked(path, failed):
                yield _name(inside, None if several else path), inside
            for name in failed:  # opening it raises the error
                yield _name(path / name, None if several else path), path / name


def _name(path: Path, root: Path | None) -> str:
    return (path if root is None else path.relative_to(root)).as_posix()


def _id(name: bytes, line: bytes) -> str:
    return hashlib.blake2b(name + b"\0" + line, digest_size=16).hexdigest()


class AsyncLocalFile:
    """One file of this machine, while it is read.

    Made by `AsyncLocalFiles.files`.

    Attributes:
        id: identifies the content; known once the file is open.
        unfinished_id: the id as long as its first line has no end.
        name: its name.
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
        """Yield its lines, some mebibytes at a time.

        Args:
            start: where to begin, an offset at which a line begins. If it is within a line (the
                last one, which had no end), the rest of this line is left out: it was read already.
            max_line: bytes of a line at most; a longer one is a block of its own, without data.
            keep: has no effect; a local file is not dropped.

        Raises:
            DamagedFile: The file is damaged or ends before *start*. The lines before were yielded.
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
        """Do nothing: a local file is not dropped."""
        del upto

    def mark(self, offset: int, last: bytes) -> str:
        """Return a digest of its first bytes and of those before *offset*.

        Args:
            offset: where reading ended.
            last: its bytes before that; those that `matching` found are added.
        """
        if offset - len(last) == self._found.end:
            last = self._found.data + last
        return marked(self._head[:offset], last[-MARKED:])

    async def matching(self, marks: Sequence[tuple[int, str]]) -> int | None:
        """Return the index of the offset and mark that fit this file, the furthest one; None: none
        fits.

        Raises:
            DamagedFile: None fits, and the file cannot be read up to the last offset.
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
        except ModuleNotFoundError:  # the module that unpacks it
            self._source.close()
            raise
        name = published_name(self.name, packing).encode("utf-8", "surrogateescape")
        self.unfinished_id = _id(name, b"")
        # A first line that may still grow does not belong to the id.
        self.id = _id(name, line if end or len(line) == HEAD else b"")

    def _start_at(self, offset: int) -> bool:
        """Go to *offset*; return whether that is within a line."""
        self._problem, before = "", b""
        try:
            if self._source is not None:
                before = self._source.start_at(offset)
        except (SourceDamaged, OSError) as error:
            self._problem = str(error)
        return before not in (b"", b"\n")

    def _more(self, size: int, read: Callable[[Source, int], bytes] = Source.piece) -> bytes:
        """Return the next *size* bytes by *read*; none at the end, and none after the damage."""
        if self._source is None or self._problem:
            return b""
        try:
            return read(self._source, size)
        except (SourceDamaged, OSError) as error:
            self._problem = str(error)
            return self._source.rest(size)
