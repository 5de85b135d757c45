# Generated from _async/source_file.py by tools/unasync.py: edit that, then run `make sync`.
"""Define the protocols of a source of files: a consumer of a feed, or local files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from ..counted import LineBlock


class SourceFile(Protocol):
    """Describe one file of a source while it is read. Use it in a `with` block."""

    @property
    def id(self) -> str:
        """Return the unique id of the file."""

    @property
    def name(self) -> str:
        """Return the name of the file, for messages."""

    @property
    def offset(self) -> int:
        """Return the first offset that the source can still deliver."""

    def blocks(self, *, start: int | None = None, keep: bool = False) -> Iterator[LineBlock]:
        """Yield whole lines from *start* on; each block begins where the previous one ended.

        With *keep*, the source keeps all bytes until they are acknowledged. It then yields an
        empty block if no more bytes are available now: perhaps none come before the next `ack`.
        """

    def ack(self, upto: int | None = None) -> None:
        """Acknowledge the bytes before *upto*, so that the source may drop them."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None: ...


@runtime_checkable
class ChangingFile(Protocol):
    """Describe a file that another file with the same id may replace, for example by a rotation."""

    @property
    def unfinished_id(self) -> str:
        """Return the id that the file had while its first line had no line end."""

    def mark(self, offset: int, last: bytes) -> str:
        """Return a mark: a digest that distinguishes the file from others with the same id.

        Args:
            offset: offset up to which the file was read.
            last: bytes of the file before *offset*; may be empty.
        """

    def matching(self, marks: Sequence[tuple[int, str]]) -> int | None:
        """Return the index of the pair (offset, mark) that fits this file.

        A pair fits if `mark` returns the same mark for the offset and the bytes before it.
        If several pairs fit, return the one with the highest offset; if none fits, return None.

        Raises:
            DamagedFile: no pair fits, and the file cannot be read up to the highest offset.
        """


class Source(Protocol):
    """Describe a source of files."""

    def files(self) -> Iterator[SourceFile]:
        """Yield the files, one after the other."""
