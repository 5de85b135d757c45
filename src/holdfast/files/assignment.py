"""Files that are assigned to consumers, their state on the server, and the check of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from ..core.error_text import described
from ..errors import on_one_line
from .chunk import BLOCK, UnpackedChunk, unpack
from .file_reader import decoded_name

MAX_REASON: Final = 200
"""Characters of an error that the server stores as the reason of a failed attempt."""


@dataclass(frozen=True, slots=True)
class FileView:
    """Hold the state of a file on the server.

    Attributes:
        state: `open` (being published), `whole` or `damaged`.
        count: number of published chunks.
        floor: index of the first chunk that is stored.
        size: unpacked bytes published.
        digest: digest of these bytes.
        problem: why the file is damaged; empty if it is not.
        small: the only chunk of a small file; None if the reply did not contain it.
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
        """Parse the values that `append_view` of `lua/parts/file.lua` appended to a *reply*."""
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
    """Describe a file that is assigned to a session.

    Attributes:
        epoch: epoch of the feed.
        session: session that holds the file.
        number: number of the file.
        token: token of the assignment.
        acked: bytes of the file that were acknowledged before.
        name: name of the file.
        born: when publishing of the file began (us).
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

        Its number alone is not unique: after a failover that lost files, the server assigns their
        numbers to other files.
        """
        return f"{int(self.epoch)}-{self.number}-{self.born}"

    @property
    def member(self) -> bytes:
        """Return the argument that names this assignment for `renew.lua`."""
        return b"%d %b" % (self.number, self.session)


class ChunkChain:
    """Unpack chunks and check that each follows the one before, up to the end of the file.

    Args:
        index: index of the first chunk.
        digest: digest of the file up to this chunk. None if it is not known: whether the first
            chunk follows the one before is then not checked.
    """

    def __init__(self, index: int, digest: bytes | None) -> None:
        self.index: int = index
        self.digest = digest
        self.size: int = index * BLOCK

    def take(self, chunks: Sequence[bytes | None]) -> list[bytes]:
        """Return the content of *chunks*.

        Raises:
            ValueError: A chunk is missing, damaged or of another file.
        """
        return [self._next(chunk) for chunk in chunks]

    def finish(self, view: FileView) -> None:
        """Check that digest and size after the last chunk are those in *view*.

        Raises:
            ValueError: They differ.
        """
        known = self.digest is not None or not view.count
        if known and ((self.digest or b""), self.size) != (view.digest, view.size):
            raise ValueError("its digest differs from the published one")

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
    """Return type and text of *error*, at most `MAX_REASON` characters; empty for None."""
    if error is None:
        return b""
    return on_one_line(described(error, MAX_REASON)).encode(errors="replace")
