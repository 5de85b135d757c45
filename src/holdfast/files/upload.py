"""Turn a file that is published into chunks. Every call blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import msgspec

from ..core.compression import Compression
from ..core.concurrency.cpu_pool import Pool
from .chunk import BLOCK, EMPTY, WINDOW, ChunkPacker, PackedChunk
from .file_reader import FileReader, SourceDamaged

PLAIN: Final = ChunkPacker(None)
"""Packs blocks that are not sent. Their packed form is only needed for the digest."""


@dataclass(frozen=True, slots=True)
class UploadBatch:
    """Hold chunks that are ready to be sent.

    Attributes:
        at: index of the first chunk.
        before: digest of the file before the first chunk.
        chunks: the chunks.
        digests: digest of the file through each chunk.
        size: unpacked bytes of the file through the last chunk.
        ending: `whole` or `damaged` if the file ends with this batch; otherwise empty.
        problem: why the file is damaged; otherwise empty.
    """

    at: int
    before: bytes
    chunks: list[bytes]
    digests: list[bytes]
    size: int
    ending: str
    problem: str

    def part(self, count: int) -> UploadBatch:
        """Return a batch of the first *count* chunks."""
        if count >= len(self.chunks):
            return self
        size = (self.at + count) * BLOCK
        chunks, digests = self.chunks[:count], self.digests[:count]
        return UploadBatch(self.at, self.before, chunks, digests, size, "", "")

    def after(self, index: int) -> UploadBatch:
        """Return the batch without the chunks before *index*, which the server has already."""
        skip = index - self.at
        if skip <= 0:
            return self
        before = self.digests[skip - 1]
        return replace(
            self, at=index, before=before, chunks=self.chunks[skip:], digests=self.digests[skip:]
        )


class Upload:
    """Read a file and return its chunks in order.

    Several threads compress blocks at the same time. Blocks of a file are read ahead while earlier
    chunks are sent. A stream is not read ahead, because its next bytes may take long to arrive.

    Args:
        source: the file or stream.
        codec: how the chunks are compressed; None: not at all.
    """

    def __init__(self, source: FileReader, codec: Compression | None) -> None:
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
        """Return the number of unpacked bytes before the next chunk."""
        return self._size

    @property
    def digest(self) -> bytes:
        """Return the digest of the file before the next chunk."""
        return self._digest

    @property
    def problem(self) -> str:
        """Return why the file is damaged; empty if no damage was found so far."""
        return self._problem

    def next_batch(self) -> UploadBatch:
        """Return the next chunks, at most `WINDOW` of them."""
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
        """Skip up to *most* chunks. Return False if the file has fewer."""
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
        """Stop the threads and close the file."""
        if self._pool is not None:
            self._pool.close()
        self._source.close()

    def _read_ahead(self, most: int) -> None:
        """Read blocks until *most* are read ahead, and start to compress them."""
        while len(self._ahead) < most and (data := self._next()):
            # Compress the only block of a small file without a thread: the caller waits anyway.
            if self._pool is not None and (self._ahead or not self._ending):
                self._ahead.append(self._pool.begin(self._packer.pack, data))
            else:
                self._ahead.append(partial(self._packer.pack, data))

    def _take(self, packed: PackedChunk) -> PackedChunk:
        """Advance `index`, `size` and `digest` by a chunk, and return it."""
        self._digest = packed.digest(self._digest)
        self._size += packed.size
        self._index += 1
        return packed

    def _next(self) -> bytes:
        """Return the next block, and set `_ending` and `_problem` with the last one."""
        if self._ending:
            return b""
        try:
            data = self._source.block()
        except SourceDamaged as damage:  # the bytes before the damage are valid
            data = self._source.rest()
            self._ending, self._problem = "damaged", str(damage)
        else:
            if len(data) < BLOCK:
                self._ending = "whole"
        return data


class PutReply(msgspec.Struct, frozen=True):
    """Hold the reply of `put.lua`.

    Attributes:
        status: the first value of the reply; `put.lua` lists all statuses.
        epoch: epoch of the feed.
        room: bytes of the budget that this file may still use.
        size, state, count, digest: of the file, as in `FileView`; *state* is empty if the server
            does not have the file.
    """

    status: bytes
    epoch: bytes
    room: int
    size: int
    state: bytes
    count: int
    digest: bytes

    @classmethod
    def of(cls, reply: Any) -> PutReply:
        """Parse a *reply* that is not an error."""
        status, epoch, room, _, size, state, count, digest = reply
        return cls(status, epoch, int(room), int(size), state, int(count), digest)
