"""A chunk: a piece of a file as it is stored, with its own checksum.

    offset 0      1          5                  37
           codec  CRC-32     digest             payload
                  of the unpacked bytes; of the file up to the end of this chunk

All chunks of a file but the last hold `BLOCK` unpacked bytes, so the index follows from the offset.
The digest chains the checksums: BLAKE2b of the digest before, the CRC-32 and the length. A chunk
that is missing, repeated, swapped or from another file breaks the chain. Files with the same digest
have the same content.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, get_args

Codec = Literal["zlib", "zstd"]

BLOCK: Final = 130_944
"""Unpacked bytes of a chunk: with the overhead of the server 128 KiB, a class of its allocator."""

WINDOW: Final = 8
"""Chunks that are sent or fetched in one call."""

EMPTY: Final = b""
"""The digest of nothing."""

DIGEST_AT: Final = 6
"""Position of the digest in a chunk, counted from 1 as in Lua."""

_HEAD: Final = struct.Struct(">cI32s")
_LINK: Final = struct.Struct(">II")

_STORED, _ZLIB, _ZSTD = b"r", b"z", b"s"

_WORTH: Final = 0.9
"""A chunk that does not shrink to this fraction is stored as it is, and so are a few after it."""

_UNTRIED: Final = 15


class UnpackedChunk(NamedTuple):
    """The content of a chunk with the right checksum.

    Attributes:
        data: the bytes.
        digest: digest of the file up to their end, as stored in the chunk.
        link: the bytes that, with the digest before, result in the digest.
    """

    data: bytes
    digest: bytes
    link: bytes

    def follows(self, before: bytes) -> bool:
        """Return whether the chunk before it has the digest *before*."""
        return _chained(before, self.link) == self.digest


class PackedChunk(NamedTuple):
    """The content of a chunk, compressed or not.

    Attributes:
        codec: how it is compressed.
        payload: the bytes.
        size: number of unpacked bytes.
        crc: checksum of the unpacked bytes.
    """

    codec: bytes
    payload: bytes
    size: int
    crc: int

    def digest(self, before: bytes) -> bytes:
        """Return the digest of the file up to the end of this chunk.

        *before* is that of the chunk before.
        """
        return _chained(before, _LINK.pack(self.crc, self.size))

    def chunk(self, digest: bytes) -> bytes:
        """Return the chunk as it is stored, with that *digest*."""
        return _HEAD.pack(self.codec, self.crc, digest) + self.payload


class ChunkPacker:
    """Pack blocks of a file; several threads may call it at the same time.

    Args:
        codec: how they are compressed; None: not at all.
    """

    def __init__(self, codec: Codec | None) -> None:
        self._compress = _compressor(codec)
        self._skip = 0

    def pack(self, data: bytes) -> PackedChunk:
        """Pack *data*, a block of a file."""
        codec, payload = _STORED, data
        if self._skip:
            self._skip -= 1
        elif self._compress is not None:
            codec, payload = self._compress(data)
            if len(payload) > _WORTH * len(data):
                codec, payload, self._skip = _STORED, data, _UNTRIED
        return PackedChunk(codec, payload, len(data), zlib.crc32(data))


def checked_codec(codec: Any) -> None:
    """Raise an error unless *codec* can be used here.

    Raises:
        ValueError: There is no such codec.
        ModuleNotFoundError: It needs a module that is not installed.
    """
    if codec not in (None, *get_args(Codec)):
        raise ValueError(f"compress must be 'zlib', 'zstd' or None, got {codec!r}")
    if codec == "zstd":
        zstd()


def digest_after(data: bytes, before: bytes) -> bytes:
    """Return the digest of a file up to the end of *data*, a whole chunk."""
    return _chained(before, _LINK.pack(zlib.crc32(data), len(data)))


def unpack(chunk: bytes | None) -> UnpackedChunk:
    """Return the content of a chunk.

    Raises:
        ValueError: It is not what was stored; the message says what is wrong.
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


def _compressor(codec: Codec | None) -> Callable[[bytes], tuple[bytes, bytes]] | None:
    if codec is None:
        return None
    if codec == "zlib":
        return lambda data: (_ZLIB, zlib.compress(data, 1))
    compress = zstd().compress
    return lambda data: (_ZSTD, compress(data, 1))


def _unpacked(codec: bytes, payload: bytes) -> bytes:
    """Unpack at most one byte more than a chunk may have, so that a small payload cannot fill the
    memory."""
    if codec == _STORED:
        return payload
    if codec == _ZLIB:
        return _bounded(zlib.decompressobj(), zlib.error, payload)
    if codec == _ZSTD:
        return _bounded(zstd().ZstdDecompressor(), zstd().ZstdError, payload)
    raise ValueError(f"its codec {codec!r} is unknown")


def _bounded(opener: Any, problem: type[Exception], payload: bytes) -> bytes:
    try:
        return bytes(opener.decompress(payload, BLOCK + 1))
    except problem as error:
        raise ValueError(f"it cannot be unpacked: {error}") from None


def zstd() -> Any:
    """Return the module for Zstandard: of Python 3.14, or its backport.

    Raises:
        ModuleNotFoundError: The message says what to install.
    """
    with suppress(ModuleNotFoundError):
        from compression import zstd as module

        return module
    try:
        from backports import zstd as module
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "Zstandard needs Python 3.14 or the extra: pip install 'holdfast[zstd]'"
        ) from None
    return module
