"""The chunks of a file that is published: read, unpacked, packed. Every call blocks."""

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
"""For blocks that are only digested."""


@dataclass(frozen=True, slots=True)
class UploadBatch:
    """Chunks that are ready to be sent.

    Attributes:
        at: index of the first one.
        before: digest of the file before it.
        chunks: the chunks.
        digests: digest of the file up to the end of each.
        size: bytes of the file with all of them, unpacked.
        ending: `whole` or `damaged` when nothing follows; otherwise empty.
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
        """Return a batch of the first *count* chunks only."""
        if count >= len(self.chunks):
            return self
        size = (self.at + count) * BLOCK
        chunks, digests = self.chunks[:count], self.digests[:count]
        return UploadBatch(self.at, self.before, chunks, digests, size, "", "")

    def after(self, index: int) -> UploadBatch:
        """Return a batch without the chunks before *index*, which the server has."""
        skip = index - self.at
        if skip <= 0:
            return self
        before = self.digests[skip - 1]
        return replace(
            self, at=index, before=before, chunks=self.chunks[skip:], digests=self.digests[skip:]
        )


class Upload:
    """Read a file and return its chunks in order.

    Several threads compress blocks at the same time. They also work while earlier chunks are sent,
    except for a stream, because its next bytes may take long to arrive.

    Args:
        source: source of the bytes.
        codec: how the chunks are compressed; None: not at all.
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
        """Return the index of the next chunk."""
        return self._index

    @property
    def size(self) -> int:
        """Return the bytes of the file before the next chunk."""
        return self._size

    @property
    def digest(self) -> bytes:
        """Return the digest of the file before the next chunk."""
        return self._digest

    @property
    def problem(self) -> str:
        """Return what is damaged, if anything was found."""
        return self._problem

    def next_batch(self) -> UploadBatch:
        """Return the next chunks, at most `WINDOW`."""
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
        """Skip up to *most* chunks; return False when there are no more."""
        for _ in range(most):
            if self._ahead:
                self._take(self._ahead.popleft()())
            elif data := self._next():
                self._take(PLAIN.pack(data))
            else:
                return False
        return True

    def rewind(self) -> bool:
        """Start again from the beginning. Return False for a stream, which cannot be read again."""
        if self._is_stream:
            return False
        while self._ahead:
            self._ahead.popleft()()
        self._source.start_at(0)
        self._index = self._size = 0
        self._digest, self._ending, self._problem = EMPTY, "", ""
        return True

    def close(self) -> None:
        """Close the file."""
        if self._pool is not None:
            self._pool.close()
        self._source.close()

    def _read_ahead(self, most: int) -> None:
        """Read blocks until *most* are pending, and start to pack them."""
        while len(self._ahead) < most and (data := self._next()):
            # A single block is not packed by another thread: the caller waits for it anyway.
            if self._pool is not None and (self._ahead or not self._ending):
                self._ahead.append(self._pool.begin(self._packer.pack, data))
            else:
                self._ahead.append(partial(self._packer.pack, data))

    def _take(self, packed: PackedChunk) -> PackedChunk:
        """Add a chunk to digest, size and index."""
        self._digest = packed.digest(self._digest)
        self._size += packed.size
        self._index += 1
        return packed

    def _next(self) -> bytes:
        """Return the next block; with the last one, note how the file ended."""
        if self._ending:
            return b""
        try:
            data = self._source.block()
        except SourceDamaged as damage:  # the bytes before it are valid
            data = self._source.rest()
            self._ending, self._problem = "damaged", str(damage)
        else:
            if len(data) < BLOCK:
                self._ending = "whole"
        return data


class PutReply(msgspec.Struct, frozen=True):
    """The reply of `put.lua`: a status, and the state of the file."""

    status: bytes
    epoch: bytes
    room: int
    size: int
    state: bytes
    count: int
    digest: bytes

    @classmethod
    def of(cls, reply: Any) -> PutReply:
        """Return the values of a reply that is not an error."""
        status, epoch, room, _, size, state, count, digest = reply
        return cls(status, epoch, int(room), int(size), state, int(count), digest)
