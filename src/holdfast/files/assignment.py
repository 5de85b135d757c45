"""A file that is assigned to a consumer, its state on the server, and the check of its chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..core.error_text import described
from ..errors import on_one_line
from .chunk import BLOCK, UnpackedChunk, unpack
from .source import decoded_name

MAX_REASON: Final = 200
"""Characters of a reason that are stored."""


@dataclass(frozen=True, slots=True)
class FileView:
    """The state of a file on the server.

    Attributes:
        state: `open` (being published), `whole` or `damaged`.
        count: chunks that were published.
        floor: index of the first chunk that is stored.
        size: bytes published, unpacked.
        digest: digest of them.
        problem: what is damaged.
        small: the only chunk of a small file, if the reply contained it.
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
        """Return the view that `append_view` of `lua/parts/file.lua` wrote."""
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
    """A file that a session holds.

    Attributes:
        epoch: epoch of the feed.
        session: session that holds the file.
        number: number of the file.
        token: token of the assignment.
        acked: bytes that were acknowledged.
        name: name of the file.
        born: when its publishing began (us).
        view: state of the file.
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
        """Return the assignment in a reply of `claim.lua`."""
        _, epoch, number, token, acked, name, born, *view = reply
        numbers = int(number), int(token), int(acked)
        return cls(epoch, session, *numbers, decoded_name(name), int(born), FileView.of(view))

    @property
    def file_id(self) -> str:
        """Return the id of the file, the same for all readers.

        The number is not enough: after a failover the server may assign the numbers of lost files
        again.
        """
        return f"{int(self.epoch)}-{self.number}-{self.born}"

    @property
    def member(self) -> bytes:
        """Return the name by which `renew.lua` knows it, with the token."""
        return b"%d %b" % (self.number, self.session)


class ChunkChain:
    """Check that chunks follow each other, and make up the file.

    Args:
        index: index of the first chunk.
        digest: digest of the file before it; None: not known, so the first chunk is not checked.
    """

    def __init__(self, index: int, digest: bytes | None) -> None:
        self.index = index
        self.digest = digest
        self.size = index * BLOCK

    def take(self, chunks: Sequence[bytes | None]) -> list[bytes]:
        """Return the content of *chunks*.

        Raises:
            ValueError: One is not what was published; the message says what is wrong.
        """
        return [self._next(chunk) for chunk in chunks]

    def finish(self, view: FileView) -> None:
        """Check the end of the file.

        Raises:
            ValueError: It is not what was published.
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


def reason_of(error: BaseException | None) -> bytes:
    """Return the type and the text of *error*, in a few words; empty without one."""
    if error is None:
        return b""
    return on_one_line(described(error, MAX_REASON)).encode(errors="replace")
