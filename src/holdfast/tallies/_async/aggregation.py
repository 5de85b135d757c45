"""Read the files of a source, count their lines, and commit the counts every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from ...core._async.caller import AsyncCaller
from ...core.concurrency._async.background_task import BackgroundTask
from ...core.concurrency._async.user_calls import in_thread
from ...core.names import Unit
from ...errors import DamagedFile, FileTaken
from ...errors.one_line_logger import logger_of
from ..counted import CountedRange, LineCounter, LineCounts
from ..days import DayRange
from ..report import TallyReport
from .file_progress import AsyncFileProgress, AsyncRunningCommit
from .resume_point import resume_point
from .source_file import AsyncSource, AsyncSourceFile
from .writer import AsyncTallyWriter

logger: Final = logger_of("holdfast.tallies")

COUNT_BYTES: Final = 32 << 20
"""Bytes that are counted together. Smaller blocks are slower, because counting by column has a
fixed cost for each block."""

COMMIT_VALUES: Final = 300_000
"""Number of counts in memory (about 50 MB) at which a commit is due."""

DAY_COMMIT_VALUES: Final = 50_000
"""Number of counts at which a commit is due where a new day begins in the log. It is lower than
`COMMIT_VALUES`, because later lines hardly increase the counts of the old day any more."""

COMMIT_S: Final = 10.0
"""Seconds after which a commit is due. After a crash at most this work is repeated."""

DAY_RANGE_S: Final = 600.0
"""Seconds for which the range of valid days is cached. The range changes at midnight."""


class _Overtaken(Exception):
    """Raised when another process has committed lines that this process was counting."""


class AsyncAggregation:
    """Count all files of a source once."""

    def __init__(
        self,
        caller: AsyncCaller,
        unit: Unit,
        writer: AsyncTallyWriter,
        new_counter: Callable[[], LineCounter],
        progress: Callable[[TallyReport], object] | None,
    ) -> None:
        self._caller = caller
        self._unit = unit
        self._writer = writer
        self._new_counter = new_counter
        self._progress = progress
        self._report = TallyReport()
        self._day_range: DayRange | None = None
        self._day_range_at = 0.0

    async def run(self, source: AsyncSource) -> TallyReport:
        """Count all files of *source*."""
        async for file in source.files():
            try:
                async with file:
                    await self._count_file(file)
            except DamagedFile as error:
                logger.warning("%s", error)
                self._add_to_report(damaged=1)
            except FileTaken as error:
                logger.warning("%s", error)
                self._add_to_report(taken=1)
            else:
                self._add_to_report(files=1)
        return self._report

    async def _count_file(self, file: AsyncSourceFile) -> None:
        """Count the lines of a file that are not counted yet.

        If another process commits some of these lines meanwhile, continue after them.
        """
        while True:
            name, offset = await resume_point(self._writer, file)
            progress = AsyncFileProgress(file, name, offset, self._new_counter())
            try:
                with suppress(_Overtaken):
                    await self._count_blocks(progress)
                    return
            finally:
                if progress.running_commit is not None:
                    await progress.running_commit.task.end()

    async def _count_blocks(self, progress: AsyncFileProgress) -> None:
        """Count a file to its end.

        Raises:
            _Overtaken: another process has committed lines that are counted here.
        """
        try:
            async for block in progress.file.blocks(start=progress.start, keep=True):
                progress.add(block)
                if progress.buffer_bytes >= COUNT_BYTES:
                    await self._count_buffer(progress)
                if block.end == block.offset:
                    # The source may wait for an acknowledgement before it has more bytes.
                    await self._commit(progress)
                if _is_due(progress):
                    await self._count_buffer(progress)
                    await self._begin_commit(progress, progress.read_to)
        except DamagedFile:
            # Commit the lines before the damage, which are valid.
            await self._commit(progress)
            raise
        # Do not acknowledge: the end of the file's `with` block acknowledges the whole file.
        await self._commit(progress, ack=False)

    async def _count_buffer(self, progress: AsyncFileProgress) -> None:
        """Count the buffered lines. If a new day begins in them, begin a commit of the lines before
        it."""
        data = progress.take_buffer()
        begin = progress.read_to - len(data)
        if begin == progress.buffer_start and progress.counter.size >= DAY_COMMIT_VALUES:
            day_begin = progress.counter.new_day_offset(data)
            if day_begin:
                await self._count_lines(progress, data[:day_begin], begin + day_begin)
                await self._begin_commit(progress, begin + day_begin)
                data = data[day_begin:]
        await self._count_lines(progress, data, progress.read_to)

    async def _count_lines(self, progress: AsyncFileProgress, data: bytes, end: int) -> None:
        """Count the lines of *data*, which ends at offset *end*."""
        if data:
            days = await self._valid_days()
            progress.lines += await in_thread(progress.counter.add, data, days)
            progress.remember_tail(data)
            running = progress.running_commit
            lines = progress.lines + (running.counted.lines if running else 0)
            self._show_progress(lines, end - progress.start)

    async def _commit(self, progress: AsyncFileProgress, *, ack: bool = True) -> None:
        """Commit all lines that were read, and wait for the reply of the server."""
        await self._count_buffer(progress)
        await self._finish_running_commit(progress)
        if progress.read_to != progress.submitted:
            counted = progress.submit(progress.read_to, self._new_counter())
            counts, counted_to = await self._write(progress.name, counted)
            await self._conclude(progress, counted, counts, counted_to, ack=ack)

    async def _begin_commit(self, progress: AsyncFileProgress, end: int) -> None:
        """Begin a commit up to *end* in the background, after the previous one has ended.

        Only one commit runs at a time, because each begins at the offset where the previous one
        ends.
        """
        await self._finish_running_commit(progress)
        if end > progress.submitted:
            counted = progress.submit(end, self._new_counter())
            task = BackgroundTask(self._write, progress.name, counted)
            progress.running_commit = AsyncRunningCommit(counted, task)

    async def _write(self, file: str, counted: CountedRange) -> tuple[LineCounts, int | None]:
        counts = await in_thread(counted.counter.take)
        counts.mark = counted.mark
        return counts, await self._writer.commit(file, counted.start, counted.end, counts)

    async def _finish_running_commit(self, progress: AsyncFileProgress) -> None:
        """Wait for the commit in the background, if there is one."""
        running, progress.running_commit = progress.running_commit, None
        if running is not None:
            counts, counted_to = await running.task.outcome()
            await self._conclude(progress, running.counted, counts, counted_to)

    async def _conclude(
        self,
        progress: AsyncFileProgress,
        counted: CountedRange,
        counts: LineCounts,
        counted_to: int | None,
        *,
        ack: bool = True,
    ) -> None:
        """Add a commit of *counted* to the report, and acknowledge its lines to the source.

        Raises:
            _Overtaken: the server rejected the commit: *counted_to* is not None.
        """
        if counted_to is not None:
            raise _Overtaken
        rejected = sum(sum(reasons.values()) for reasons in counts.rejected.values())
        lines = sum(counts.lines.values()) + rejected
        start, progress.committed = progress.start, counted.end
        self._add_to_report(lines=lines, rejected=rejected, bytes=counted.end - start, commits=1)
        if ack:
            await progress.file.ack(counted.end)

    async def _valid_days(self) -> DayRange:
        """Return the days that are valid by the clock of the server."""
        now = time.monotonic()
        if self._day_range is None or now - self._day_range_at > DAY_RANGE_S:
            seconds, _ = await self._caller.read(self._unit, "TIME")
            self._day_range, self._day_range_at = DayRange.until(int(seconds)), now
        return self._day_range

    def _add_to_report(self, **more: int) -> None:
        self._report = _added(self._report, **more)
        self._show_progress()

    def _show_progress(self, lines: int = 0, bytes_: int = 0) -> None:
        """Call the user's callback with the report plus *lines* and bytes not committed yet."""
        if self._progress is not None:
            self._progress(_added(self._report, lines=lines, bytes=bytes_))


def _added(report: TallyReport, **more: int) -> TallyReport:
    return replace(report, **{name: getattr(report, name) + n for name, n in more.items()})


def _is_due(progress: AsyncFileProgress) -> bool:
    """Return whether it is time for a commit."""
    since = progress.first_read_at
    return progress.counter.size >= COMMIT_VALUES or (
        since is not None and time.monotonic() - since > COMMIT_S
    )
