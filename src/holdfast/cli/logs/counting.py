"""Count lines with a thread per core, and show the progress."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ... import Consumer, LocalFiles, TallyReport
from ...inspect.formats import counted, size
from ..output import console, untrusted_markup
from .progress import FeedProgress

if TYPE_CHECKING:
    from ... import FileFeed, GeoKey, Holdfast

Source = LocalFiles | Consumer

INTERRUPT_POLL_S = 0.2
"""Seconds of one wait of the main thread, which handles Ctrl-C only between two waits."""


def count_lines(
    hf: Holdfast, name: str, source: Source, key: GeoKey, feed: FileFeed | None
) -> TallyReport:
    """Count all lines of *source*, which may belong to a *feed*, into the tally called *name*.

    A feed hands out its files one by one; the files of a folder are counted in parallel.
    """
    tally = hf.tally(name)
    with _ProgressLine(feed) as display:
        if feed is not None:
            return tally.aggregate(source, key=key, progress=display.reporter(0))
        files = _SharedFiles(source)
        cores = range(os.cpu_count() or 1)
        with ThreadPoolExecutor(len(cores)) as pool:
            try:
                runs = [
                    pool.submit(tally.aggregate, files, key=key, progress=display.reporter(n))
                    for n in cores
                ]
                left = set(runs)
                while left:
                    done, left = wait(left, INTERRUPT_POLL_S, FIRST_EXCEPTION)
                    for run in done:
                        # If it has failed, raise its error without waiting for the others.
                        run.result()
                return _sum([run.result() for run in runs])
            finally:  # after Ctrl-C or a failure, end the other threads
                display.ended = True


def _sum(reports: list[TallyReport]) -> TallyReport:
    fields = map(asdict, reports)
    total: dict[str, int] = {}
    for each in fields:
        total = {what: total.get(what, 0) + number for what, number in each.items()}
    return TallyReport(**total)


class _SharedFiles:
    """Distributes the files of one source among several threads."""

    def __init__(self, source: Source) -> None:
        self._files: Iterator[Any] = source.files()
        self._lock = threading.Lock()

    def files(self) -> Iterator[Any]:
        """Yield the files that no other thread has taken."""
        while True:
            with self._lock:
                file = next(self._files, None)
            if file is None:
                return
            yield file


class _StopRequested(Exception):
    """Raised in the counting threads to end them."""


class _ProgressLine:
    """Shows the progress in a line on the terminal.

    Attributes:
        ended: whether the counting threads must end.
    """

    def __init__(self, feed: FileFeed | None) -> None:
        self._status = console(stderr=True).status("reading …")
        self._feed = FeedProgress(feed) if feed else None
        self._reports: dict[int, TallyReport] = {}
        self._began = time.monotonic()
        self.ended = False

    def __enter__(self) -> _ProgressLine:
        self._status.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._status.stop()

    def reporter(self, thread: int) -> Any:
        """Return the callback for the progress of one thread."""

        def report_progress(report: TallyReport) -> None:
            if self.ended:
                raise _StopRequested
            self._reports[thread] = report
            total = _sum(list(self._reports.values()))
            rate = total.lines / max(0.001, time.monotonic() - self._began)
            slow = self._feed.text() if self._feed else ""
            self._status.update(
                f"{counted(total.files, 'file')}, {size(total.bytes)}, "
                f"{counted(total.lines, 'line')} ({rate:,.0f}/s), {total.rejected:,} rejected"
                f"{'; ' if slow else ''}{untrusted_markup(slow)}"
            )

        return report_progress
