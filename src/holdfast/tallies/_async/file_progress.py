"""Track how far one file is read, counted and committed."""

from __future__ import annotations

import time
from typing import Final, NamedTuple

from ...core.concurrency._async.background_task import BackgroundTask
from ..counted import CountedRange, LineBlock, LineCounter, LineCounts
from .source_file import AsyncChangingFile, AsyncSourceFile

TAIL_BYTES: Final = 64 << 10
"""Bytes before an offset that a mark covers."""


class AsyncRunningCommit(NamedTuple):
    """Hold a commit that runs in the background.

    Attributes:
        counted: the range of the file that is committed.
        task: the call to the server.
    """

    counted: CountedRange
    task: BackgroundTask[tuple[LineCounts, int | None]]


class AsyncFileProgress:
    """Track how far one file is read, counted and committed.

    Attributes:
        file: the file.
        name: id under which the tally knows the file.
        counter: counts the lines since the last commit began.
        committed: offset up to which commits have ended.
        submitted: offset up to which commits have begun.
        read_to: offset up to which the file was read.
        buffer: data before `read_to` that is not counted yet.
        buffer_start: offset at which the buffer begins.
        buffer_bytes: number of bytes in the buffer.
        lines: lines that were counted since the last commit began.
        first_read_at: when the first data after `submitted` was read, in monotonic seconds; None if
            there is none.
        running_commit: the commit that runs in the background; None if none runs.
    """

    __slots__ = (
        "_contiguous_from",
        "_tail",
        "buffer",
        "buffer_bytes",
        "buffer_start",
        "committed",
        "counter",
        "file",
        "first_read_at",
        "lines",
        "name",
        "read_to",
        "running_commit",
        "submitted",
    )

    def __init__(
        self, file: AsyncSourceFile, name: str, committed: int, counter: LineCounter
    ) -> None:
        self.file = file
        self.name = name
        self.counter = counter
        self.committed = self.submitted = self.read_to = committed
        self.buffer: list[bytes] = []
        self.buffer_start = committed
        self.buffer_bytes = 0
        self.lines = 0
        self.first_read_at: float | None = None
        self.running_commit: AsyncRunningCommit | None = None
        self._tail = b""
        self._contiguous_from = self.start  # no line after this offset was skipped

    @property
    def start(self) -> int:
        """Return the offset at which reading begins."""
        return max(self.committed, self.file.offset)

    def add(self, block: LineBlock) -> None:
        """Add *block* to the buffer, and count it as rejected if it is an overlong line."""
        if block.overlong:
            self.counter.reject_overlong(block.overlong)
            self.lines += block.overlong
        if not self.buffer:
            self.buffer_start = block.offset
        if not block.data:
            self._contiguous_from = block.end
        else:
            self.buffer.append(block.data)
            self.buffer_bytes += len(block.data)
            if self.first_read_at is None:
                self.first_read_at = time.monotonic()
        self.read_to = block.end

    def take_buffer(self) -> bytes:
        """Return the buffered data, and empty the buffer."""
        data, self.buffer, self.buffer_bytes = b"".join(self.buffer), [], 0
        return data

    def remember_tail(self, data: bytes) -> None:
        """Keep the last bytes of the counted *data*, which the next mark covers."""
        joined = data if len(data) >= TAIL_BYTES else self._tail + data
        self._tail = joined[-TAIL_BYTES:]

    def submit(self, end: int, new_counter: LineCounter) -> CountedRange:
        """Return the counted range up to *end*, for a commit. Count later lines with *new_counter*.

        All lines before *end* must be counted, and none after it.
        """
        has_tail = end > self._contiguous_from
        tail = self._tail[self._contiguous_from - end :] if has_tail else b""
        mark = self.file.mark(end, tail) if isinstance(self.file, AsyncChangingFile) else ""
        counted = CountedRange(self.submitted, end, self.lines, self.counter, mark)
        self.counter, self.submitted, self.lines = new_counter, end, 0
        self.first_read_at = None
        return counted
