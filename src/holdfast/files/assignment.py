"""What is known of a file that is read, and what has come of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .chunk import BLOCK, UnpackedChunk, unpack
from .source import decoded_name


@dataclass(frozen=True, slots=True)
class FileView:
    """What the server shows of a file: how it stands.

    Attributes:
        state: `open` (being published), `whole` or `damaged`.
        count: chunks that were published.
        floor: the first chunk that is kept.
        size: bytes published, unpacked.
        digest: of them.
        problem: what is damaged.
        small: the only chunk of a small file, if it came along.
    """

    state: str
    count: int
    floor: int
    size: int
    digest: bytes
    problem: str
    small: bytes | None = None

    @classmethod
    def of(cls, reply: Sequence[Any]) -> FileView:
        """What `show` of `lua/parts/shown.lua` told."""
        state, count, floor, size, digest, problem, *small = reply
        return cls(
            state.decode(),
            int(count),
            int(floor),
            int(size),
            digest,
            problem.decode(errors="replace"),
            *small,
        )


class Assignment(NamedTuple):
    """A file that somebody holds.

    Attributes:
        epoch: of the feed.
        session: who holds it.
        number: of the file.
        token: of the grant.
        acked: bytes that are done with.
        name: of the file.
        born: when it was begun (us).
        view: what came along.
    """

    epoch: bytes
    session: bytes
    number: int
    token: int
    acked: int
    name: str
    born: int
    view: FileView

    @classmethod
    def of(cls, session: bytes, reply: Sequence[Any]) -> Assignment:
        """What `claim.lua` told."""
        _, epoch, number, token, acked, name, born, *view = reply
        numbers = int(number), int(token), int(acked)
        return cls(epoch, session, *numbers, decoded_name(name), int(born), FileView.of(view))

    @property
    def file_id(self) -> str:
        """Of this file in this life of the feed, for all who read it.

        The number alone is not enough: a server that forgot its last files gives theirs again.
        """
        return f"{int(self.epoch)}-{self.number}-{self.born}"

    @property
    def member(self) -> bytes:
        """Return what `renew.lua` knows it by, with the token."""
        return b"%d %b" % (self.number, self.session)


class ChunkChain:
    """Checks that chunks come one after the other, and make up the file.

    Args:
        index: of the first chunk.
        digest: of the file up to there; None: not known, so the first one is believed.
    """

    def __init__(self, index: int, digest: bytes | None) -> None:
        self.index = index
        self.digest = digest
        self.size = index * BLOCK

    def take(self, chunks: Sequence[bytes | None]) -> list[bytes]:
        """What is in *chunks*.

        Raises:
            ValueError: one is not what was published; says what is wrong.
        """
        return [self._next(chunk) for chunk in chunks]

    def finish(self, view: FileView) -> None:
        """Nothing follows.

        Raises:
            ValueError: it is not what was published.
        """
        known = self.digest is not None or not view.count
        if known and ((self.digest or b""), self.size) != (view.digest, view.size):
            raise ValueError("its digest is not that of what was published")

    def _next(self, chunk: bytes | None) -> bytes:
        try:
            found: UnpackedChunk = unpack(chunk)
        except ValueError as error:
            raise ValueError(f"chunk {self.index}: {error}") from None
        if self.digest is not None and not found.follows(self.digest):
            raise ValueError(f"chunk {self.index} does not follow the one before")
        self.index, self.digest = self.index + 1, found.digest
        self.size += len(found.data)
        return found.data
