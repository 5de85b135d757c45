"""Divide a stream of bytes into blocks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..core.checks import checked_int
from .chunk import BLOCK

MAX_LINE: Final = 64 << 10
"""Default limit for the bytes of a line."""


class Block(NamedTuple):
    """Hold some whole lines of a file; with `raw` any bytes of it.

    Blocks are contiguous: each begins where the one before ends.

    Attributes:
        offset: where the block begins in the unpacked bytes of the file.
        end: where the next block begins.
        data: the lines with their line ends; the last line of a file may have none. Empty for a
            line that was skipped.
        overlong: 1 if the block stands for a line that was skipped because it is too long.
    """

    offset: int
    end: int
    data: bytes
    overlong: int = 0


class LineSplitter:
    """Divide bytes that arrive in pieces into blocks of whole lines.

    Args:
        offset: offset of the first byte in the file.
        max_line: bytes that a line may have, without its line end.
        within: whether *offset* is within a line; the rest of this line is skipped.
    """

    def __init__(self, offset: int, max_line: int = MAX_LINE, *, within: bool = False) -> None:
        self._offset = offset
        self._max_line = max_line
        self._within = within
        self._rest = b""
        self._skipped = 0  # bytes of an overlong line that has not ended yet

    @property
    def needed(self) -> int:
        """Return the offset of the first byte that the next block may contain."""
        return self._offset + self._skipped

    def cut(self, data: bytes) -> Iterator[Block]:
        """Yield the blocks that are complete with *data*, the next bytes of the file."""
        if self._skipped or self._within:
            end = data.find(b"\n") + 1
            if not end:
                self._skipped += len(data)
                return
            yield self._left_out(self._skipped + end)
            data = data[end:]
        end = data.rfind(b"\n") + 1
        if end:
            whole = end == len(data) and not self._rest  # then *data* need not be copied
            lines = data if whole else b"".join((self._rest, memoryview(data)[:end]))
            yield from self._whole(lines)
            self._rest = b""
        self._rest += data[end:]
        if len(self._rest) > self._max_line + 1:  # + 1 for the carriage return of the line end
            self._skipped, self._rest = len(self._rest), b""

    def finish(self) -> Iterator[Block]:
        """Yield the last line if the file ends without a line end."""
        if self._skipped or len(self._rest) > self._max_line:
            yield self._left_out(self._skipped or len(self._rest))
        elif self._rest:
            yield self._block(self._rest)
        self._rest = b""

    def _whole(self, lines: bytes) -> Iterator[Block]:
        """Yield blocks of at most the maximum line size from *lines*, which end with a line end.

        Yield an empty block for each line that is too long.
        """
        begin = at = 0
        while at + self._max_line < len(lines):
            end = lines.rfind(b"\n", at, at + self._max_line + 1) + 1
            if end:
                at = end
                continue
            if begin < at:
                yield self._block(lines[begin:at])
            begin = lines.index(b"\n", at) + 1
            # A carriage return belongs to the line end, not to the line.
            if begin - at <= self._max_line + 2 and lines[begin - 2 : begin] == b"\r\n":
                yield self._block(lines[at:begin])
            else:
                yield self._left_out(begin - at)
            at = begin
        if begin < len(lines):
            yield self._block(lines[begin:])

    def _block(self, data: bytes) -> Block:
        offset, self._offset = self._offset, self._offset + len(data)
        return Block(offset, self._offset, data)

    def _left_out(self, size: int) -> Block:
        """Return the empty block for a line that is skipped: it is too long, or *within* is set."""
        offset, self._offset = self._offset, self._offset + size
        overlong = not self._within
        self._skipped, self._within = 0, False
        return Block(offset, self._offset, b"", int(overlong))


class LineProgress:
    """Track how many lines of a block the user has got (`done`)."""

    __slots__ = ("_block", "done")

    def __init__(self, block: Block) -> None:
        self._block = block
        self.done: int = 0

    @property
    def position(self) -> int:
        """Return the offset after these lines."""
        block, at = self._block, 0
        for _ in range(self.done):
            at = (block.data.find(b"\n", at) + 1) or len(block.data)
        return block.offset + at if block.data else block.end


class RawSplitter:
    """Make a block of each piece of bytes, with the interface of `LineSplitter`."""

    def __init__(self, offset: int) -> None:
        self._offset = offset

    @property
    def needed(self) -> int:
        """Return the offset of the next block."""
        return self._offset

    def cut(self, data: bytes) -> Iterator[Block]:
        """Yield *data* as a block, unless it is empty."""
        offset, self._offset = self._offset, self._offset + len(data)
        if data:
            yield Block(offset, self._offset, data)

    def finish(self) -> Iterator[Block]:
        """Return no blocks."""
        return iter(())


def lines_of(data: bytes) -> list[bytes]:
    """Return the lines of *data*, without their line ends."""
    *lines, last = data.split(b"\n")
    if b"\r\n" in data:
        lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
    if last:  # without a line end, a carriage return belongs to the line
        lines.append(last)
    return lines


def checked_offset(offset: Any, name: str) -> int:
    """Return *offset* if it is valid; errors use the argument's *name*."""
    return checked_int(offset, name, 0)


def checked_max_line(max_line: Any) -> int:
    """Return *max_line* if it is valid."""
    return checked_int(max_line, "max_line", 1, BLOCK, unit="bytes")
