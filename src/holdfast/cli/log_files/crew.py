"""Counts with as many threads as there are cores, and shows how far they are."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ... import Consumer, LocalFiles, TallyReport
from ..output import console, counted, size, visible
from .slowest import Slowest

if TYPE_CHECKING:
    from ... import FileFeed, GeoKey, Holdfast

Source = LocalFiles | Consumer

HEARD_S = 0.2
"""A Ctrl-C that the system hands to another thread is heard by who waits when a wait ends."""


def run(hf: Holdfast, name: str, source: Source, key: GeoKey, feed: FileFeed | None) -> TallyReport:
    """Count all of *source*, which may be of a *feed*, into the tally called *name*.

    A feed hands its files out one after the other; those of a folder are counted side by side.
    """
    tally = hf.tally(name)
    with _Display(feed) as display:
        if feed is not None:
            return tally.aggregate(source, key=key, progress=display.of(0))
        files = _Shared(source)
        cores = range(os.cpu_count() or 1)
        with ThreadPoolExecutor(len(cores)) as pool:
            try:
                runs = [
                    pool.submit(tally.aggregate, files, key=key, progress=display.of(n))
                    for n in cores
                ]
                left = set(runs)
                while left:
                    done, left = wait(left, HEARD_S, FIRST_EXCEPTION)
                    for run in done:
                        run.result()  # at once what one has failed with
                return _sum([run.result() for run in runs])
            finally:  # interrupted, or one has failed: the others end as well
                display.ended = True


def _sum(reports: list[TallyReport]) -> TallyReport:
    fields = map(asdict, reports)
    total: dict[str, int] = {}
    for each in fields:
        total = {what: total.get(what, 0) + number for what, number in each.items()}
    return TallyReport(**total)


class _Shared:
    """Files of one source for several threads."""

    def __init__(self, source: Source) -> None:
        self._files: Iterator[Any] = source.files()
        self._lock = threading.Lock()

    def files(self) -> Iterator[Any]:
        """Those that nobody else has taken."""
        while True:
            with self._lock:
                file = next(self._files, None)
            if file is None:
                return
            yield file


class _Ended(Exception):
    """Nobody waits any more."""


class _Display:
    """A line on the terminal, while it goes on.

    Attributes:
        ended: whether those who tell how far they are are to end.
    """

    def __init__(self, feed: FileFeed | None) -> None:
        self._status = console(stderr=True).status("reading …")
        self._slowest = Slowest(feed) if feed else None
        self._reports: dict[int, TallyReport] = {}
        self._began = time.monotonic()
        self.ended = False

    def __enter__(self) -> _Display:
        self._status.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._status.stop()

    def of(self, thread: int) -> Any:
        """What one of the threads tells its report."""

        def tell(report: TallyReport) -> None:
            if self.ended:
                raise _Ended
            self._reports[thread] = report
            total = _sum(list(self._reports.values()))
            rate = total.lines / max(0.001, time.monotonic() - self._began)
            slow = self._slowest.told() if self._slowest else ""
            self._status.update(
                f"{counted(total.files, 'file')}, {size(total.bytes)}, "
                f"{counted(total.lines, 'line')} ({rate:,.0f}/s), {total.rejected:,} rejected"
                f"{'; ' if slow else ''}{visible(slow)}"
            )

        return tell
