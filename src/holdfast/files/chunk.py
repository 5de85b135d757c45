"""Chunks: pieces of a file as the server stores them, each with its own checksum.

    offset  0      1                          5                           37
            codec  CRC-32 of unpacked bytes   digest up to this chunk     payload

All chunks of a file but the last hold `BLOCK` unpacked bytes, so the index of a chunk follows from
its offset in the file.
The digest chains the checksums: it is the BLAKE2b hash of the digest in the previous chunk, the
CRC-32 and the unpacked length. A chunk that is missing, repeated, swapped or from another file
breaks the chain. Files with the same digest have the same content.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

from ..core.compression import Compression, compressed, unpacked

BLOCK: Final = 130_944
"""Unpacked bytes of a chunk. With the server's overhead this is 128 KiB, a size class of its
allocator, so that little memory is wasted."""

WINDOW: Final = 8
"""Chunks that are sent or fetched in one call."""

EMPTY: Final = b""
"""Digest before the first chunk of a file."""

DIGEST_AT: Final = 6
"""Position of the digest in a chunk, counted from 1 as in Lua."""

_HEAD: Final = struct.Struct(">cI32s")
_LINK: Final = struct.Struct(">II")

_STORED, _ZLIB, _ZSTD = b"r", b"z", b"s"

_WORTH: Final = 0.9
"""A chunk that does not shrink to this fraction is stored uncompressed."""

_UNTRIED: Final = 15
"""Number of chunks, after one that did not shrink enough, that are stored uncompressed without
trying."""


class UnpackedChunk(NamedTuple):
    """Hold the unpacked content of a chunk with a verified checksum.

    Attributes:
        data: the unpacked bytes.
        digest: the chained digest of the file from its start through this chunk, as stored in it.
        link: the packed checksum and size of this chunk. Hashing the previous chunk's digest with
            it gives `digest`.
    """

    data: bytes
    digest: bytes
    link: bytes

    def follows(self, before: bytes) -> bool:
        """Return whether this chunk continues a file that has the digest *before* so far."""
        return _chained(before, self.link) == self.digest


class PackedChunk(NamedTuple):
    """Hold the content of a chunk as it is stored, without its digest.

    Attributes:
        codec: one byte, how the payload is compressed.
        payload: the bytes, compressed or not.
        size: number of unpacked bytes.
        crc: CRC-32 of the unpacked bytes.
    """

    codec: bytes
    payload: bytes
    size: int
    crc: int

    def digest(self, before: bytes) -> bytes:
        """Return the digest of the file through this chunk, which follows the digest *before*."""
        return _chained(before, _LINK.pack(self.crc, self.size))

    def chunk(self, digest: bytes) -> bytes:
        """Return the bytes that the server stores: header with *digest*, and payload."""
        return _HEAD.pack(self.codec, self.crc, digest) + self.payload


class ChunkPacker:
    """Compress blocks of a file. Several threads may use the same packer at the same time.

    Args:
        codec: how blocks are compressed; None: not at all.
    """

    def __init__(self, codec: Compression | None) -> None:
        self._compress = _compressor(codec)
        self._skip = 0

    def pack(self, data: bytes) -> PackedChunk:
        """Return *data*, compressed if that saves at least a tenth."""
        codec, payload = _STORED, data
        if self._skip:
            self._skip -= 1
        elif self._compress is not None:
            codec, payload = self._compress(data)
            if len(payload) > _WORTH * len(data):
                codec, payload, self._skip = _STORED, data, _UNTRIED
        return PackedChunk(codec, payload, len(data), zlib.crc32(data))


def digest_after(data: bytes, before: bytes) -> bytes:
    """Return the digest of a file through the unpacked chunk *data*, which follows *before*."""
    return _chained(before, _LINK.pack(zlib.crc32(data), len(data)))


def unpack(chunk: bytes | None) -> UnpackedChunk:
    """Unpack a chunk and verify its checksum. None stands for a chunk that the server lost.

    Raises:
        ValueError: The chunk is missing or damaged.
    """
    if chunk is None:
        raise ValueError("it is missing on the server")
    if len(chunk) < _HEAD.size:
        raise ValueError(f"it has {len(chunk)} bytes, too few for a chunk")
    codec, crc, digest = _HEAD.unpack_from(chunk)
    data = _unpacked(codec, chunk[_HEAD.size :])
    if len(data) > BLOCK:
        raise ValueError(f"it unpacks to more than {BLOCK:,} bytes")
    if zlib.crc32(data) != crc:
        raise ValueError("its checksum is wrong")
    return UnpackedChunk(data, digest, _LINK.pack(crc, len(data)))


def _chained(before: bytes, link: bytes) -> bytes:
    return hashlib.blake2b(before + link, digest_size=16).hexdigest().encode()


def _compressor(codec: Compression | None) -> Callable[[bytes], tuple[bytes, bytes]] | None:
    if codec is None:
        return None
    mark = _ZLIB if codec == "zlib" else _ZSTD
    return lambda data: (mark, compressed(data, codec))


def _unpacked(codec: bytes, payload: bytes) -> bytes:
    """Unpack a payload, but at most `BLOCK` + 1 bytes, so that a small payload cannot fill the
    memory."""
    if codec == _STORED:
        return payload
    if codec == _ZLIB:
        return unpacked(payload, "zlib", BLOCK)
    if codec == _ZSTD:
        return unpacked(payload, "zstd", BLOCK)
    raise ValueError(f"its codec {codec!r} is unknown")
