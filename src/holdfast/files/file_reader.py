"""Read the file or stream that is published, in blocks, and unpack it. Every call blocks."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, Protocol

from ..core.compression import zstd
from ..errors import InvalidName
from .chunk import BLOCK
from .folders import opened_within

Packing = Literal["gzip", "zstd"]

MAX_UNPACKED: Final = 2**36
"""Default limit for the unpacked bytes of a compressed file."""

MAX_NAME_BYTES: Final = 1024

_SUFFIXES: Final[dict[str, Packing]] = {".gz": "gzip", ".zst": "zstd"}

_PIECE: Final = 64 << 10
"""Bytes read from a compressed file at a time; they may unpack to a thousand times as many."""

_LINE_END_BYTES: Final = 64 << 10
"""Bytes that are searched for the last line end."""

_GZIP: Final = 31
"""Value of `wbits` with which zlib expects gzip data and checks their checksum and length."""


class Readable(Protocol):
    """A file object opened for reading bytes."""

    def read(self, size: int, /) -> bytes | None: ...


class SourceDamaged(Exception):
    """Raised when the source is damaged; the message says why."""


class FileReader:
    """Read and unpack one file.

    Args:
        origin: a path, or a file object opened for reading bytes.
        packing: how the file is compressed; None: not at all.
        limit: maximum number of unpacked bytes.
        within: the folder in which the file must lie after all links are followed; None: any.

    Raises:
        OSError: The file cannot be opened.
        ValueError: The path is not that of a regular file.
    """

    def __init__(
        self,
        origin: str | os.PathLike[str] | Readable,
        packing: Packing | None,
        limit: int,
        within: Path | None = None,
    ) -> None:
        self._own: Any = None
        self._left: int | None = None
        """Bytes of the file (of its size when it was opened) that were not read; None: a stream."""
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
        """Return the size of the file before unpacking, in bytes; None for a stream."""
        return self._size

    def block(self) -> bytes:
        """Return the next `BLOCK` bytes; fewer at the end of the file, and none after it.

        Raises:
            SourceDamaged: The file shrank, or cannot be unpacked.
            OSError: The file cannot be read.
        """
        if not self._held and self._packing is None:
            whole = next(self._pieces, b"")
            if len(whole) == BLOCK:
                return whole
            self._held += whole
        return self._taken(BLOCK)

    def start_at(self, offset: int) -> bytes:
        """Continue at an *offset* of the unpacked content. Works only for a file, not for a stream.

        Returns:
            The byte before *offset*; empty at the beginning.

        Raises:
            SourceDamaged: The file is shorter than *offset*, or cannot be unpacked.
            OSError: The file cannot be read.
        """
        if offset and self._unpacked_to == offset:  # `tails` has unpacked up to here
            self._unpacked_to = 0
            return self._last
        self._unpacked_to = 0
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
        """Read the bytes before some offsets of a file. Does not work for a stream.

        Args:
            spots: pairs (offset, number of bytes before it), in order.

        Returns:
            A dict from each spot within the file to its bytes; and the error that ended reading,
            or "".
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
            self._unpacked_to, self._last = at, last[-1:]
        return found, ""

    _unpacked_to = 0  # offset at which `tails` ended in a compressed file, and the byte before it
    _last = b""

    def piece(self, size: int) -> bytes:
        """Return at most the next *size* bytes; fewer at the end of the file, and none after it.

        Raises:
            SourceDamaged, OSError: as in `block`.
        """
        return self._taken(size) if self._packing else self._read(size)

    def whole_lines(self, size: int) -> bytes:
        """Return at most the next *size* bytes. For an uncompressed file, try to stop after a line
        end: then `LineSplitter` does not copy an incomplete line.

        Raises:
            SourceDamaged, OSError: as in `block`.
        """
        if self._packing is None and (self._left or 0) > size:
            searched = min(_LINE_END_BYTES, size // 2)
            begin = self._file.tell()
            self._file.seek(begin + size - searched)
            last = self._file.read(searched)
            self._file.seek(begin)
            size -= searched - (last.rfind(b"\n") + 1)
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
        """Return at most *size* unpacked bytes that were not returned yet, also after damage."""
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
            # Use O_NONBLOCK, because otherwise opening a named pipe would block.
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
        """Return up to *size* stored bytes, but none beyond the file's size when it was opened."""
        if self._left is None:
            data = self._file.read(size)
            if data is None:
                raise BlockingIOError("the file object must block until it has data")
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
    """Return how a file called *name* is compressed, by its suffix; None for other suffixes."""
    return _SUFFIXES.get(PurePosixPath(name).suffix.lower())


def published_name(name: str, packing: Packing | None) -> str:
    """Return the name of the file on the feed: without the suffix `.gz` or `.zst` if the file is
    unpacked."""
    suffix = PurePosixPath(name).suffix
    unpacked = packing is not None and _SUFFIXES.get(suffix.lower()) == packing
    return name[: -len(suffix)] if unpacked else name


def encoded_name(name: str) -> bytes:
    """Return the bytes of *name* that the server stores. A file name of the operating system that
    is not valid UTF-8 keeps its bytes.

    Raises:
        InvalidName: The name is too long, or not valid Unicode.
        TypeError: The name is not a str.
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
    """Yield the unpacked content of all gzip members in order (RFC 1952, section 2.2)."""
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
        # Skip zero bytes after a member: tapes pad files with them.
        while not (data := data.lstrip(b"\0") if member else data):
            data = read(_PIECE)
            if not data:
                return


def _zstd(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the unpacked content of all Zstandard frames in order (RFC 8878, section 3)."""
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
