"""What a tally needs of a source of files: a consumer of a feed, or local files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from ..counted import LineBlock


class AsyncSourceFile(Protocol):
    """One file of a source, while it is read."""

    @property
    def id(self) -> str:
        """Return the id of these contents; no other file has it."""

    @property
    def name(self) -> str:
        """Return the name for people."""

    @property
    def offset(self) -> int:
        """Return the first offset that can still be read."""

    def blocks(self, *, start: int | None = None, keep: bool = False) -> AsyncIterator[LineBlock]:
        """Yield whole lines from *start* on; each block begins where the last one ended.

        With *keep*, the source keeps all bytes until they are acknowledged. It then yields an
        empty block if there are no more bytes now, and perhaps none before the next `ack`.
        """

    async def ack(self, upto: int | None = None) -> None:
        """Let the source drop the bytes before *upto*: they are counted."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None: ...


@runtime_checkable
class AsyncChangingFile(Protocol):
    """A file with contents that may be replaced under the same id, for example by a rotation."""

    @property
    def unfinished_id(self) -> str:
        """Return the id that the file had while its first line had no line end."""

    def mark(self, offset: int, last: bytes) -> str:
        """Return a digest that distinguishes the file from others with the same id.

        Args:
            offset: offset up to which the file was read.
            last: bytes of the file that end there; may be empty.
        """

    async def matching(self, marks: Sequence[tuple[int, str]]) -> int | None:
        """Return the index of the pair of offset and mark that fits this file.

        If several fit, return the one with the highest offset; if none fits, return None.

        Raises:
            DamagedFile: the file cannot be read up to these offsets.
        """


class AsyncSource(Protocol):
    """A source of files."""

    def files(self) -> AsyncIterator[AsyncSourceFile]:
        """Yield the files one after the other; each is a context manager."""
