# Generated from _async/local_files.py by tools/unasync.py: edit that, then run `make sync`.
"""Read files of this machine with the interface of the files of a feed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ...core.concurrency._sync.user_calls import in_thread
from ...errors import DamagedFile
from ..file_reader import MAX_UNPACKED, FileReader, SourceDamaged, packing_of, published_name
from ..folders import walked
from ..lines import MAX_LINE, Block, LineSplitter, checked_max_line, checked_offset
from ..marks import Tail, length_of, marked

PathLike = str | os.PathLike[str]

PIECE: Final = 33 << 20
"""Number of bytes that are read at a time; a tally counts them as one batch."""

HEAD: Final = 4096
"""Maximum bytes of the first line that the id of a file covers."""

MARKED: Final = 64 << 10
"""Bytes at the beginning of a file, and before an offset, that a mark covers (see `marks.py`)."""


class LocalFiles:
    """Read files of this machine as a consumer reads the files of a feed.

    Files with the suffix `.gz` or `.zst` are unpacked. A folder stands for all regular files in it
    and in its subfolders. Their names are their paths below the folder.

    A file is recognized by its name, its first line, its first 64 KiB, and the 64 KiB before the
    offset up to which it was counted.

    - If a file grows or is compressed between two runs, no line is counted again.
    - A change between the first 64 KiB and the last 64 KiB before the offset is not noticed.
    - Another file with the same name is a new file, even if its first line is the same, for example
      after a rotation or after the file was truncated and written again.
    - A renamed file is a new file, too.

    Args:
        paths: a path of a file or folder, or several of them.
        growing: whether the files may still grow. Then a last line without a line end is left for
            the next run, because it may be incomplete.
        max_unpacked: maximum number of unpacked bytes of a compressed file.
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
        return f"LocalFiles({', '.join(repr(str(path)) for path in self._paths)})"

    def files(self) -> Iterator[LocalFile]:
        """Yield the files, one after the other. Use each in a `with` block."""
        for name, path in in_thread(lambda: list(self._found())):
            yield LocalFile(path, name, self._growing, self._max_unpacked)

    def _found(self) -> Iterator[tuple[str, Path]]:
        """Yield name and path of each file. With several `paths`, each name is the whole path."""
        several = len(self._paths) > 1
        for path in self._paths:
            if not path.is_dir():
                yield path.as_posix() if several else path.name, path
                continue
            failed: dict[str, Exception] = {}
            for inside in walked(path, failed):
                yield _name(inside, None if several else path), inside
            for name in failed:  # opening such a file raises its error
                yield _name(path / name, None if several else path), path / name


def _name(path: Path, root: Path | None) -> str:
    return (path if root is None else path.relative_to(root)).as_posix()


def _id(name: bytes, line: bytes) -> str:
    return hashlib.blake2b(name + b"\0" + line, digest_size=16).hexdigest()


class LocalFile:
    """Read one file of this machine. Use it in a `with` block.

    Made by `LocalFiles.files`.

    Attributes:
        id: digest of name and first line; empty until the file is open.
        unfinished_id: the id that the file had while its first line had no line end.
        name: name of the file.
        offset: offset at which reading begins by default, always 0.
    """

    def __init__(self, path: Path, name: str, growing: bool, max_unpacked: int) -> None:
        self.id: str = ""
        self.unfinished_id: str = ""
        self.name: Final = name
        self.offset: Final = 0
        self._path = path
        self._growing = growing
        self._max_unpacked = max_unpacked
        self._source: FileReader | None = None
        self._problem = ""
        self._head = b""
        self._found = Tail(0, b"")

    def __repr__(self) -> str:
        return f"LocalFile({self.name!r})"

    def blocks(
        self, *, start: int | None = None, max_line: int = MAX_LINE, keep: bool = False
    ) -> Iterator[Block]:
        """Yield the lines in blocks of some mebibytes.

        Args:
            start: offset to begin at, by default 0. If it is within a line, the rest of this line
                is skipped: its beginning was read as the last line, when it had no line end yet.
            max_line: maximum bytes of a line. Each longer line yields an empty block.
            keep: has no effect, because a local file is never dropped.

        Raises:
            DamagedFile: The file is damaged, or ends before *start*. Lines before the damage were
                yielded.
        """
        del keep
        begin = checked_offset(start or 0, "start")
        within = in_thread(self._start_at, begin)
        splitter = LineSplitter(begin, checked_max_line(max_line), within=within)
        while data := in_thread(self._more, PIECE, FileReader.whole_lines):
            for block in splitter.cut(data):
                yield block
        if self._problem:
            raise DamagedFile(None, self.name, self._problem)
        for block in () if self._growing else splitter.finish():
            yield block

    def ack(self, upto: int | None = None) -> None:
        """Do nothing, because nothing needs to be acknowledged to the server."""
        del upto

    def mark(self, offset: int, last: bytes) -> str:
        """Return the mark of the file: a digest of its first bytes and of those before *offset*.

        Args:
            offset: offset at which reading ended.
            last: bytes before *offset*. If they begin at the offset of the mark that `matching`
                found, the bytes before that offset are prepended.
        """
        if offset - len(last) == self._found.end:
            last = self._found.data + last
        return marked(self._head[:offset], last[-MARKED:])

    def matching(self, marks: Sequence[tuple[int, str]]) -> int | None:
        """Return the index of the mark that fits this file and has the largest offset.

        Args:
            marks: pairs of an offset and the digest of a file up to there. A mark fits if this file
                has the same digest up to the offset.

        Returns:
            The index; None if no mark fits.

        Raises:
            DamagedFile: No mark fits, and the file cannot be read up to the last offset.
        """
        return in_thread(self._matching, marks)

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

    def __enter__(self) -> Self:
        in_thread(self._open)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._source is not None:
            in_thread(self._source.close)

    def _open(self) -> None:
        packing = packing_of(self.name)
        try:
            self._source = FileReader(self._path, packing, self._max_unpacked)
        except (OSError, ValueError) as error:
            raise DamagedFile(None, self.name, f"it cannot be read: {error}") from None
        try:
            self._head = self._more(MARKED)
            line, end, _ = self._head[:HEAD].partition(b"\n")
        except ModuleNotFoundError:  # the module that unpacks the file is not installed
            self._source.close()
            raise
        name = published_name(self.name, packing).encode("utf-8", "surrogateescape")
        self.unfinished_id = _id(name, b"")
        # Leave an incomplete first line out of the id, because it may grow.
        self.id = _id(name, line if end or len(line) == HEAD else b"")

    def _start_at(self, offset: int) -> bool:
        """Continue reading at *offset*. Return whether *offset* is within a line."""
        self._problem, before = "", b""
        try:
            if self._source is not None:
                before = self._source.start_at(offset)
        except (SourceDamaged, OSError) as error:
            self._problem = str(error)
        return before not in (b"", b"\n")

    def _more(
        self, size: int, read: Callable[[FileReader, int], bytes] = FileReader.piece
    ) -> bytes:
        """Return up to *size* of the next bytes, read by *read*; none at the end of the file.

        If damage is met, set `_problem` and return the readable bytes before it; after that, none.
        """
        if self._source is None or self._problem:
            return b""
        try:
            return read(self._source, size)
        except (SourceDamaged, OSError) as error:
            self._problem = str(error)
            return self._source.rest(size)
