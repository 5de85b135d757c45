"""The source of a published file: a file or a stream, read in blocks and unpacked.

Every call blocks.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, Protocol

from ..errors import InvalidName
from .chunk import BLOCK, zstd
from .folders import opened_within

Packing = Literal["gzip", "zstd"]

MAX_UNPACKED: Final = 2**36
"""Default limit for the unpacked bytes of a compressed file."""

MAX_NAME_BYTES: Final = 1024

_SUFFIXES: Final[dict[str, Packing]] = {".gz": "gzip", ".zst": "zstd"}

_PIECE: Final = 64 << 10
"""Bytes read from a compressed file at a time; each may unpack to a thousand times as many."""

_LOOK: Final = 64 << 10
"""Bytes that are searched for the end of a line."""

_GZIP: Final = 31
"""Argument of zlib: a gzip header and trailer, with checksum and length, which zlib checks."""


class Readable(Protocol):
    """A file object opened for reading bytes."""

    def read(self, size: int, /) -> bytes | None: ...


class SourceDamaged(Exception):
    """The source is damaged; the message says why."""


class Source:
    """Return the blocks of one file.

    Args:
        origin: a path, or a file object opened for reading bytes.
        packing: how it is compressed; None: not at all.
        limit: bytes that it may unpack to.
        within: the folder that a path must lie in, also after all links; None: anywhere.

    Raises:
        OSError: It cannot be opened.
        ValueError: It is not a regular file.
    """

    def __init__(
        self,
        origin: str | os.PathLike[str] | Readable,
        packing: Packing | None,
        limit: int,
        within: Path | None = None,
    ) -> None:
        self._own: Any = None
        self._left: int | None = (
            None  # bytes of a file that are left, by its size when it was opened
        )
        if isinstance(origin, str | os.PathLike):
            self._open(Path(origin), within)
        else:
            self._file: Any = origin
        self._limit = limit
        self._packing = packing
        self._begin()

    def _begin(self) -> None:
        self._pieces = _UNPACKERS[self._packing](self._read)
        self._held = bytearray()
        self._total = 0

    @property
    def size(self) -> int | None:
        """Return the bytes of the file as it is stored here; None for a stream."""
        return self._size

    def block(self) -> bytes:
        """Return the next block of `BLOCK` bytes, a shorter last block, and then empty ones.

        Raises:
            SourceDamaged: It is shorter than before, or does not unpack.
            OSError: It cannot be read.
        """
        if not self._held and self._packing is None:
            whole = next(self._pieces, b"")
            if len(whole) == BLOCK:
                return whole
            self._held += whole
        return self._taken(BLOCK)

    def start_at(self, offset: int) -> bytes:
        """Continue at an *offset* of the unpacked content. Only for a file that was opened by its
        path.

        Returns:
            The byte before; empty at the beginning.

        Raises:
            SourceDamaged: It is shorter than *offset*, or does not unpack.
            OSError: It cannot be read.
        """
        if offset and self._stands_at == offset:  # saves unpacking all of it again
            self._stands_at = 0
            return self._last
        self._stands_at = 0
        before = max(0, offset - 1)
        at = self._file.seek(0 if self._packing else before)
        self._left = max(0, (self._size or 0) - at)
        self._begin()
        while self._packing and at < before and (skipped := self._taken(min(BLOCK, before - at))):
            at += len(skipped)
        byte = self.piece(1) if offset and at == before else b""
        if offset and not byte:
            raise SourceDamaged(f"it ends before byte {offset:,}, up to where it was read before")
        return byte

    def tails(self, spots: Sequence[tuple[int, int]]) -> tuple[dict[tuple[int, int], bytes], str]:
        """Return the bytes before some offsets of a file that was opened by its path.

        Args:
            spots: offsets and how many bytes, in order.

        Returns:
            The bytes of each spot within the file, and what is wrong with the rest.
        """
        found: dict[tuple[int, int], bytes] = {}
        try:
            self.start_at(0)
            at, last, most = 0, b"", max(length for _, length in spots)
            for offset, length in spots:
                start = max(0, offset - length)
                if self._packing is None:
                    at, last = self._file.seek(start), b""
                    self._left = max(0, (self._size or 0) - at)
                while at < offset and (data := self.piece(min(BLOCK, offset - at))):
                    at, last = at + len(data), (last + data)[-most:]
                if at == offset:
                    found[offset, length] = last[-length:] if length else b""
        except (SourceDamaged, OSError) as error:
            return found, str(error)
        if self._packing:
            self._stands_at, self._last = at, last[-1:]
        return found, ""

    _stands_at = 0
    _last = b""

    def piece(self, size: int) -> bytes:
        """Return the next *size* bytes; fewer at the end of the file, none after it.

        Raises:
            SourceDamaged, OSError: as `block`.
        """
        return self._taken(size) if self._packing else self._read(size)

    def whole_lines(self, size: int) -> bytes:
        """Return what `piece` does, but end at a line end if it is found easily: that saves a copy
        later.

        Raises:
            SourceDamaged, OSError: as `block`.
        """
        if self._packing is None and (self._left or 0) > size:
            look = min(_LOOK, size // 2)
            begin = self._file.tell()
            self._file.seek(begin + size - look)
            last = self._file.read(look)
            self._file.seek(begin)
            size -= look - (last.rfind(b"\n") + 1)
        return self.piece(size)

    def _taken(self, size: int) -> bytes:
        while len(self._held) < size:
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._held += piece
            self._total += len(piece)
            if self._packing and self._total > self._limit:
                raise SourceDamaged(f"it unpacks to more than {self._limit:,} bytes")
        return self.rest(size)

    def rest(self, size: int = BLOCK) -> bytes:
        """Return bytes that were unpacked before the damage, *size* at most."""
        rest = bytes(memoryview(self._held)[:size])
        del self._held[:size]
        return rest

    def close(self) -> None:
        """Close the file if it was opened by its path."""
        if self._own is not None:
            self._own.close()

    _size: int | None = None

    def _open(self, path: Path, within: Path | None) -> None:
        if within is not None:
            descriptor = opened_within(within, path)
        else:
            # O_NONBLOCK: the open of a named pipe in the folder must not block.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        regular = False
        try:
            about = os.fstat(descriptor)
            regular = stat.S_ISREG(about.st_mode)
        finally:
            if not regular:
                os.close(descriptor)
        if not regular:
            raise ValueError(f"only regular files can be published, {str(path)!r} is not one")
        self._file = self._own = open(descriptor, "rb", buffering=0)  # noqa: SIM115, PTH123
        self._size = self._left = about.st_size

    def _read(self, size: int) -> bytes:
        """Return up to *size* bytes; none after the size that the file had when it was opened."""
        if self._left is None:
            data = self._file.read(size)
            if data is None:
                raise BlockingIOError("the file object has nothing at the moment: it must block")
            if not isinstance(data, bytes | bytearray | memoryview):
                raise TypeError(f"the file object must read bytes, not {type(data).__name__}")
            return bytes(data)
        wanted = min(size, self._left)
        data = self._file.read(wanted) if wanted else b""
        if len(data) < wanted and not data:
            at = (self._size or 0) - self._left
            raise SourceDamaged(f"it shrank from {self._size:,} bytes to {at:,} while it was read")
        self._left -= len(data)
        return bytes(data)


def packing_of(name: str) -> Packing | None:
    """Return how a file called *name* is compressed; None if the name has no known suffix."""
    return _SUFFIXES.get(PurePosixPath(name).suffix.lower())


def published_name(name: str, packing: Packing | None) -> str:
    """Return the name on the feed: without the suffix of its packing if it is unpacked."""
    suffix = PurePosixPath(name).suffix
    unpacked = packing is not None and _SUFFIXES.get(suffix.lower()) == packing
    return name[: -len(suffix)] if unpacked else name


def encoded_name(name: str) -> bytes:
    """Return *name* as it is stored: any text, also a file name that is not valid text.

    Raises:
        InvalidName: It is too long, or not valid Unicode.
        TypeError: It is not a str.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name must be a str, got {type(name).__name__}")
    try:
        encoded = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidName(name, f"not valid Unicode at position {error.start}") from None
    if len(encoded) > MAX_NAME_BYTES:
        raise InvalidName(name, f"it takes {len(encoded)} bytes, the limit is {MAX_NAME_BYTES}")
    return encoded


def decoded_name(encoded: bytes) -> str:
    """Return the name for which `encoded_name` returned *encoded*."""
    return encoded.decode("utf-8", "surrogateescape")


def _plain(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while data := read(BLOCK):
        yield data


def _gzip(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the content of all members, one after the other (RFC 1952, section 2.2)."""
    member, data = 0, read(_PIECE)
    while data:
        member += 1
        opener = zlib.decompressobj(_GZIP)
        while not opener.eof:
            try:
                piece = opener.decompress(data, BLOCK)
            except zlib.error as error:
                raise SourceDamaged(f"member {member} of the gzip file: {error}") from None
            data = opener.unconsumed_tail
            if piece:
                yield piece
            elif not opener.eof and not data:
                data = read(_PIECE)
                if not data:
                    raise SourceDamaged(f"the gzip file ends within its member {member}")
        data = opener.unused_data
        # Zero bytes may follow the last member, as on a tape.
        while not (data := data.lstrip(b"\0") if member else data):
            data = read(_PIECE)
            if not data:
                return


def _zstd(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the content of all frames, one after the other (RFC 8878, section 3)."""
    module = zstd()
    frame, data = 0, read(_PIECE)
    while data:
        frame += 1
        opener = module.ZstdDecompressor()
        while not opener.eof:
            try:
                piece = opener.decompress(data, BLOCK)
            except module.ZstdError as error:
                raise SourceDamaged(f"frame {frame} of the Zstandard file: {error}") from None
            data = b""
            if piece:
                yield piece
            elif not opener.eof and opener.needs_input:
                data = read(_PIECE)
                if not data:
                    raise SourceDamaged(f"the Zstandard file ends within its frame {frame}")
        data = opener.unused_data or read(_PIECE)


_UNPACKERS: Final[dict[Packing | None, Callable[[Callable[[int], bytes]], Iterator[bytes]]]] = {
    None: _plain,
    "gzip": _gzip,
    "zstd": _zstd,
}
