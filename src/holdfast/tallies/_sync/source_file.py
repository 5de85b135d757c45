# Generated from _async/source_file.py by tools/unasync.py: edit that, then run `make sync`.
"""What a tally asks of a source of files. The consumer of a feed is one, and so are local files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from ..block import Block


class SourceFile(Protocol):
    """One file, while it is read."""

    @property
    def id(self) -> str:
        """Names these very contents, and no others."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def offset(self) -> int:
        """Where reading can begin: what lies before is not there any more."""

    def blocks(self, *, start: int | None = None, keep: bool = False) -> Iterator[Block]:
        """Whole lines from *start* on, block after block, each beginning where the last one ended.

        With *keep* nothing is let go before it is acknowledged. Then a block that ends where it
        begins says that there is nothing more at this moment, and perhaps not before an `ack`.
        """

    def ack(self, upto: int | None = None) -> None:
        """What lies before *upto* is counted, and is not needed again."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None: ...


@runtime_checkable
class ChangingFile(Protocol):
    """A file whose contents may become others while its id stays, as by a rotation."""

    @property
    def unfinished_id(self) -> str:
        """Return the id that it had as long as its first line had no end."""

    def mark(self, offset: int, last: bytes) -> str:
        """Return what tells it from others of the same id, up to *offset*.

        Args:
            offset: where it is read to.
            last: some of its bytes before that; perhaps none.
        """

    def matching(self, marks: Sequence[tuple[int, str]]) -> int | None:
        """Return which of these offsets and marks is of this file; of several the furthest.

        Raises:
            DamagedFile: it cannot be read up to there.
        """


class Source(Protocol):
    """Where files come from."""

    def files(self) -> Iterator[SourceFile]:
        """One after the other; each is a context."""
