"""Reads files, counts their lines here, and commits the counts once in a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from ...core._async.caller import AsyncCaller
from ...core.concurrency._async.background_task import BackgroundTask
from ...core.concurrency._async.user_calls import in_thread
from ...core.names import Unit
from ...errors import DamagedFile, FileTaken
from ...errors.records import logger_of
from ..block import Block
from ..counted import Counter, Sums
from ..days import Span
from ..report import TallyReport
from ..spot import Spot, nth_id
from .source_file import AsyncChangingFile, AsyncSource, AsyncSourceFile
from .writer import AsyncBook

logger: Final = logger_of("holdfast.tallies")

AT_ONCE: Final = 32 << 20
"""Bytes that are counted together: what columns cost by themselves is small beside so many."""

COMMIT_VALUES: Final = 300_000
"""A commit at the latest when so many counts have come together: about 50 MB here."""

DAY_VALUES: Final = 50_000
"""When a day has ended, with so many: nearly all counts of the next lines are others."""

COMMIT_S: Final = 10.0
"""And after so long: what a crash makes somebody do again."""

LAST: Final = 64 << 10
"""Bytes before an offset by which a file is known again."""

ALIKE: Final = 16
"""Files of the same id that are looked for at first."""

MORE_ALIKE: Final = 64
"""And then, as long as there are more."""

SPAN_S: Final = 600.0
"""So long a span of days is believed; it changes at midnight."""


class AsyncReading:
    """One run over a source."""

    def __init__(
        self,
        caller: AsyncCaller,
        unit: Unit,
        book: AsyncBook,
        counter: Callable[[], Counter],
        progress: Callable[[TallyReport], object] | None,
    ) -> None:
        self._caller = caller
        self._unit = unit
        self._book = book
        self._new_counter = counter
        self._progress = progress
        self._report = TallyReport()
        self._span: Span | None = None
        self._span_at = 0.0

    async def run(self, source: AsyncSource) -> TallyReport:
        """Count all files of *source*."""
        async for file in source.files():
            try:
                async with file:
                    await self._count(file)
            except DamagedFile as error:
                logger.warning("%s", error)
                self._tell(damaged=1)
            except FileTaken as error:
                logger.warning("%s", error)
                self._tell(taken=1)
            else:
                self._tell(files=1)
        return self._report

    async def _count(self, file: AsyncSourceFile) -> None:
        """Count what is left of a file, also when others count it at the same time."""
        while True:
            name, counted = await self._resumed(file)
            piece = _Piece(file, name, counted, self._new_counter())
            try:
                if await self._read(piece):
                    return
            finally:
                if piece.commit is not None:
                    await piece.commit.work.end()

    async def _resumed(self, file: AsyncSourceFile) -> tuple[str, int]:
        """Return what the tally calls a file, and up to where it is counted.

        Several files may have had its id, one after the other: the marks tell which one it is. If
        it is none of them, it is a new one.
        """
        if not isinstance(file, AsyncChangingFile):
            return file.id, await self._book.position(file.id)
        free, known = await self._counted_as(file.id)
        which = await file.matching([spot for _, spot in known]) if known else None
        if which is None and file.unfinished_id != file.id:
            _, known = await self._counted_as(file.unfinished_id)
            which = await file.matching([spot for _, spot in known]) if known else None
        return (free, 0) if which is None else (known[which][0], known[which][1].offset)

    async def _counted_as(self, file_id: str) -> tuple[str, list[tuple[str, Spot]]]:
        """Return a free name for a file with this id, and the names and spots of known files."""
        known: list[tuple[str, Spot]] = []
        free, first, number, found = "", 0, ALIKE, 1
        while found:
            names = [nth_id(file_id, n) for n in range(first, first + number)]
            spots = dict(zip(names, await self._book.spots(names), strict=True))
            there = [(name, spot) for name, spot in spots.items() if spot is not None]
            free = free or next((name for name in names if spots[name] is None), "")
            known += there
            # Old ones expire, so there may be gaps.
            found = sum(spots[name] is not None for name in names[-number // 2 :])
            first, number = first + number, MORE_ALIKE
        return free, known

    async def _read(self, piece: _Piece) -> bool:
        """Count the file of *piece* to its end; False: another one has counted part of it."""
        try:
            async for block in piece.file.blocks(start=piece.start, keep=True):
                piece.take_in(block)
                if piece.waiting_bytes >= AT_ONCE and not await self._digest(piece):
                    return False
                # A block of nothing: the source waits, perhaps until what is counted is let go.
                is_waiting = block.end == block.offset
                if (is_waiting and not await self._commit(piece)) or (
                    piece.is_due and not await self._hand_over(piece)
                ):
                    return False
        except DamagedFile:
            # What came before the damage is good.
            if not await self._commit(piece):
                return False
            raise
        # The end of its context says that all of it is done with.
        return await self._commit(piece, ack=False)

    async def _digest(self, piece: _Piece) -> bool:
        """Count the lines that have come together; False: another one was faster."""
        data, piece.waiting, piece.waiting_bytes = b"".join(piece.waiting), [], 0
        begin = piece.end - len(data)
        if begin == piece.waiting_at and piece.counter.size >= DAY_VALUES:
            first = piece.counter.turn(data)
            if first:
                await self._add(piece, data[:first], begin + first)
                if not await self._begin_commit(piece, begin + first):
                    return False
                data = data[first:]
        await self._add(piece, data, piece.end)
        return True

    async def _add(self, piece: _Piece, data: bytes, end: int) -> None:
        """Count lines that end there."""
        if data:
            span = await self._current_span()
            piece.lines += await in_thread(piece.counter.add, data, span)
            piece.remember(data)
            before = piece.commit.part.lines if piece.commit else 0
            self._show(before + piece.lines, end - max(piece.counted, piece.file.offset))

    async def _commit(self, piece: _Piece, *, ack: bool = True) -> bool:
        """Have the server count all that was counted here; False: another one was faster."""
        if not (await self._digest(piece) and await self._committed(piece)):
            return False
        if piece.end == piece.handed:
            return True
        part = piece.hand_over(piece.end, self._new_counter())
        sums, now = await self._write(piece.name, part)
        return await self._concluded(piece, part, sums, now, ack=ack)

    async def _hand_over(self, piece: _Piece) -> bool:
        """Begin a commit of all that was read; False: another one was faster than before."""
        return await self._digest(piece) and await self._begin_commit(piece, piece.end)

    async def _begin_commit(self, piece: _Piece, end: int) -> bool:
        """Begin a commit up to *end*, and go on meanwhile; False: another one was faster.

        One at a time: each begins where the one before ends.
        """
        if not await self._committed(piece):
            return False
        if end > piece.handed:
            part = piece.hand_over(end, self._new_counter())
            piece.commit = _Commit(part, BackgroundTask(self._write, piece.name, part))
        return True

    async def _write(self, file: str, part: _Part) -> tuple[Sums, int | None]:
        sums = await in_thread(part.counter.take)
        sums.mark = part.mark
        return sums, await self._book.commit(file, part.start, part.end, sums)

    async def _committed(self, piece: _Piece) -> bool:
        """Wait for the commit that was begun, if any; False: another one was faster."""
        commit, piece.commit = piece.commit, None
        if commit is None:
            return True
        sums, now = await commit.work.outcome()
        return await self._concluded(piece, commit.part, sums, now)

    async def _concluded(
        self, piece: _Piece, part: _Part, sums: Sums, now: int | None, *, ack: bool = True
    ) -> bool:
        """Tell that *part* of a file is committed; False: the file is counted up to *now*."""
        if now is not None:
            piece.counted = now
            return False
        rejected = sum(sum(reasons.values()) for reasons in sums.rejected.values())
        lines = sum(sums.lines.values()) + rejected
        start = max(piece.counted, piece.file.offset)
        piece.counted = part.end
        self._tell(lines=lines, rejected=rejected, bytes=part.end - start, commits=1)
        if ack:
            await piece.file.ack(part.end)
        return True

    async def _current_span(self) -> Span:
        now = time.monotonic()
        if self._span is None or now - self._span_at > SPAN_S:
            seconds, _ = await self._caller.read(self._unit, "TIME")
            self._span, self._span_at = Span.until(int(seconds)), now
        return self._span

    def _tell(self, **more: int) -> None:
        """Add to the report, and show it."""
        self._report = _sum(self._report, **more)
        self._show()

    def _show(self, lines: int = 0, bytes_: int = 0) -> None:
        """Show the report, with what was read since the last commit."""
        if self._progress is not None:
            self._progress(_sum(self._report, lines=lines, bytes=bytes_))


def _sum(report: TallyReport, **more: int) -> TallyReport:
    told = {name: getattr(report, name) + number for name, number in more.items()}
    return replace(report, **told)


class _Part(NamedTuple):
    """What lies between two offsets of a file, and was counted.

    Attributes:
        start: where it begins.
        end: where it ends.
        lines: that it has.
        counter: what has counted them, and nothing else.
        mark: tells the file from others up to its end.
    """

    start: int
    end: int
    lines: int
    counter: Counter
    mark: str


class _Commit(NamedTuple):
    """A commit that was begun.

    Attributes:
        part: of the file, that it is about.
        work: what becomes of it.
    """

    part: _Part
    work: BackgroundTask[tuple[Sums, int | None]]


class _Piece:
    """A file from where it is counted on, and what has been read of it since.

    Attributes:
        name: what the tally calls the file.
        last: bytes that were counted last, with nothing left out.
        counted: up to where it is counted, as the server says.
        handed: up to where it is, or a commit was begun.
        end: up to where it was read.
        waiting: data up to there that is not counted yet.
        waiting_at: where that begins.
        lines: that were counted here since the last commit was begun.
    """

    __slots__ = (
        "commit",
        "counted",
        "counter",
        "end",
        "file",
        "handed",
        "last",
        "lines",
        "name",
        "run_at",
        "since",
        "waiting",
        "waiting_at",
        "waiting_bytes",
    )

    def __init__(self, file: AsyncSourceFile, name: str, counted: int, counter: Counter) -> None:
        self.file = file
        self.name = name
        self.last = b""
        self.run_at = max(counted, file.offset)  # from there on nothing was left out
        self.counter = counter
        self.counted = self.handed = self.end = counted
        self.waiting: list[bytes] = []
        self.waiting_at = counted
        self.waiting_bytes = 0
        self.lines = 0
        self.since: float | None = None
        self.commit: _Commit | None = None

    @property
    def start(self) -> int:
        """Where reading begins."""
        return max(self.counted, self.file.offset)

    def take_in(self, block: Block) -> None:
        """See to it that *block* is counted."""
        if block.overlong:
            self.counter.overlong(block.overlong)
            self.lines += block.overlong
        if not self.waiting:
            self.waiting_at = block.offset
        if not block.data:
            self.run_at = block.end
        else:
            self.waiting.append(block.data)
            self.waiting_bytes += len(block.data)
            if self.since is None:
                self.since = time.monotonic()
        self.end = block.end

    def hand_over(self, end: int, counter: Counter) -> _Part:
        """What comes before *end* and is to be committed now; go on with another *counter*."""
        last = self.last[self.run_at - end :] if end > self.run_at else b""
        mark = self.file.mark(end, last) if isinstance(self.file, AsyncChangingFile) else ""
        part = _Part(self.handed, end, self.lines, self.counter, mark)
        self.counter, self.handed, self.lines, self.since = counter, end, 0, None
        return part

    def remember(self, data: bytes) -> None:
        """Keep the last bytes of what was counted."""
        self.last = data[-LAST:] if len(data) >= LAST else (self.last + data)[-LAST:]

    @property
    def is_due(self) -> bool:
        """Whether it is time for a commit."""
        return self.counter.size >= COMMIT_VALUES or (
            self.since is not None and time.monotonic() - self.since > COMMIT_S
        )
