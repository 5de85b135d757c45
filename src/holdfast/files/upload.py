"""A file on its way to the server: read, unpacked, packed in chunks. All of it blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import msgspec

from ..core.concurrency.cpu_pool import Pool
from .chunk import BLOCK, EMPTY, WINDOW, ChunkPacker, Codec, PackedChunk
from .source import Source, SourceDamaged

PLAIN: Final = ChunkPacker(None)
"""For blocks of which only the digest is wanted."""


@dataclass(frozen=True, slots=True)
class UploadBatch:
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

    def part(self, count: int) -> UploadBatch:
        """Only the first *count* chunks."""
        if count >= len(self.chunks):
            return self
        size = (self.at + count) * BLOCK
        chunks, digests = self.chunks[:count], self.digests[:count]
        return UploadBatch(self.at, self.before, chunks, digests, size, "", "")

    def after(self, index: int) -> UploadBatch:
        """Without the chunks before *index*, which the server has."""
        skip = index - self.at
        if skip <= 0:
            return self
        before = self.digests[skip - 1]
        return replace(
            self, at=index, before=before, chunks=self.chunks[skip:], digests=self.digests[skip:]
        )


class Upload:
    """The chunks of one file, in order.

    Blocks are compressed side by side, and those of a file (not of a stream, whose next bytes may
    be long in coming) also while the ones before them travel.

    Args:
        source: where the bytes come from.
        codec: how the chunks are compressed; None not at all.
    """

    def __init__(self, source: Source, codec: Codec | None) -> None:
        self._source = source
        self._packer = ChunkPacker(codec)
        self._pool = Pool() if codec else None
        self._is_stream = source.size is None
        self._ahead: deque[Callable[[], PackedChunk]] = deque()
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
        """Bytes of the file up to there."""
        return self._size

    @property
    def digest(self) -> bytes:
        """Of the file up to there."""
        return self._digest

    @property
    def problem(self) -> str:
        """What is damaged, if it was found out."""
        return self._problem

    def next_batch(self) -> UploadBatch:
        """The next chunks, as many as travel together."""
        at, before = self._index, self._digest
        chunks: list[bytes] = []
        digests: list[bytes] = []
        self._read_ahead(WINDOW)
        while self._ahead and len(chunks) < WINDOW:
            chunks.append(self._take(self._ahead.popleft()()).chunk(self._digest))
            digests.append(self._digest)
        if not self._is_stream:
            self._read_ahead(WINDOW)
        ending, problem = ("", "") if self._ahead else (self._ending, self._problem)
        return UploadBatch(at, before, chunks, digests, self._size, ending, problem)

    def skip(self, most: int) -> bool:
        """Pass up to *most* chunks; False when there are no more."""
        for _ in range(most):
            if self._ahead:
                self._take(self._ahead.popleft()())
            elif data := self._next():
                self._take(PLAIN.pack(data))
            else:
                return False
        return True

    def rewind(self) -> bool:
        """Begin anew. Return False for a stream, which cannot be read again."""
        if self._is_stream:
            return False
        while self._ahead:
            self._ahead.popleft()()
        self._source.start_at(0)
        self._index = self._size = 0
        self._digest, self._ending, self._problem = EMPTY, "", ""
        return True

    def close(self) -> None:
        """Close what was opened."""
        if self._pool is not None:
            self._pool.close()
        self._source.close()

    def _read_ahead(self, most: int) -> None:
        """Read what is to be packed, and begin with that."""
        while len(self._ahead) < most and (data := self._next()):
            # Who has only one block would wait for it anyway.
            if self._pool is not None and (self._ahead or not self._ending):
                self._ahead.append(self._pool.begin(self._packer.pack, data))
            else:
                self._ahead.append(partial(self._packer.pack, data))

    def _take(self, packed: PackedChunk) -> PackedChunk:
        """Count a chunk in."""
        self._digest = packed.digest(self._digest)
        self._size += packed.size
        self._index += 1
        return packed

    def _next(self) -> bytes:
        """The next block; the last one also says how the file ended."""
        if self._ending:
            return b""
        try:
            data = self._source.block()
        except SourceDamaged as damage:  # what came before is good
            data = self._source.rest()
            self._ending, self._problem = "damaged", str(damage)
        else:
            if len(data) < BLOCK:
                self._ending = "whole"
        return data


class PutReply(msgspec.Struct, frozen=True):
    """What `put.lua` says: the verdict, and how the file stands."""

    status: bytes
    epoch: bytes
    room: int
    size: int
    state: bytes
    count: int
    digest: bytes

    @classmethod
    def of(cls, reply: Any) -> PutReply:
        """The answer in a reply that is no refusal."""
        status, epoch, room, _, size, state, count, digest = reply
        return cls(status, epoch, int(room), int(size), state, int(count), digest)
