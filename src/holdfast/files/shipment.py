"""A file on its way to the server: read, unpacked, packed in chunks. All of it blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .chunk import BLOCK, EMPTY, WINDOW, Codec, Packer, digest_after
from .source import Damage, Source


@dataclass(frozen=True, slots=True)
class Load:
    """Chunks that are ready to be sent.

    Attributes:
        at: index of the first one.
        before: digest of the file up to there.
        chunks: the chunks.
        digests: of the file up to and with each.
        size: bytes of the file with all of them, unpacked.
        ending: `whole` or `damaged` when nothing follows; else empty.
        problem: what is damaged.
    """

    at: int
    before: bytes
    chunks: list[bytes]
    digests: list[bytes]
    size: int
    ending: str
    problem: str

    def part(self, count: int) -> Load:
        """Only the first *count* chunks."""
        if count >= len(self.chunks):
            return self
        size = (self.at + count) * BLOCK
        chunks, digests = self.chunks[:count], self.digests[:count]
        return Load(self.at, self.before, chunks, digests, size, "", "")

    def after(self, index: int) -> Load:
        """Without the chunks before *index*, which the server has."""
        skip = index - self.at
        if skip <= 0:
            return self
        before = self.digests[skip - 1]
        return replace(
            self, at=index, before=before, chunks=self.chunks[skip:], digests=self.digests[skip:]
        )


class Shipment:
    """The chunks of one file, in order.

    Args:
        source: where the bytes come from.
        codec: how the chunks are compressed; None not at all.
    """

    def __init__(self, source: Source, codec: Codec | None) -> None:
        self._source = source
        self._packer = Packer(codec)
        self._index = 0
        self._size = 0
        self._digest = EMPTY
        self._ending = ""
        self._problem = ""

    @property
    def index(self) -> int:
        """Of the next chunk."""
        return self._index

    @property
    def size(self) -> int:
        """Bytes read up to there."""
        return self._size

    @property
    def digest(self) -> bytes:
        """Of the file up to there."""
        return self._digest

    def load(self) -> Load:
        """The next chunks, as many as travel together."""
        at, before = self._index, self._digest
        chunks: list[bytes] = []
        digests: list[bytes] = []
        while len(chunks) < WINDOW and (data := self._next()):
            chunk, self._digest = self._packer.pack(data, self._digest)
            chunks.append(chunk)
            digests.append(self._digest)
        return Load(at, before, chunks, digests, self._size, self._ending, self._problem)

    def skip(self, most: int) -> bool:
        """Read up to *most* chunks without making them up; False when there are no more."""
        for _ in range(most):
            data = self._next()
            if not data:
                return False
            self._digest = digest_after(data, self._digest)
        return True

    @property
    def problem(self) -> str:
        """What is damaged, if it was found out."""
        return self._problem

    def close(self) -> None:
        """Close what was opened."""
        self._source.close()

    def _next(self) -> bytes:
        """The next block; the last one also says how the file ended."""
        if self._ending:
            return b""
        try:
            data = self._source.block()
        except Damage as damage:  # what came before is good
            data = self._source.rest()
            self._ending, self._problem = "damaged", str(damage)
        else:
            if len(data) < BLOCK:
                self._ending = "whole"
        self._index += bool(data)
        self._size += len(data)
        return data
