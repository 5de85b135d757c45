"""Show the progress of feeds and of counting on a terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from ... import FeedStatus, FileFeed, HoldfastError
from ...inspect.formats import size
from ..output import console, printable, untrusted_markup

if TYPE_CHECKING:
    from ... import FileFeed


POLL_S: Final = 1.0


class FeedProgress:
    """Finds out, at most once a second, which consumer is furthest behind."""

    def __init__(self, feed: FileFeed) -> None:
        self._feed = feed
        self._read_at = 0.0
        self._text = ""

    def text(self) -> str:
        """Return the slowest consumer, such as `geo-2 is 12.3 MiB behind`; empty if none is."""
        if time.monotonic() - self._read_at > POLL_S:
            self._read_at = time.monotonic()
            with suppress(HoldfastError):
                self._text = progress_of(self._feed.status())
        return self._text


def progress_of(status: FeedStatus) -> str:
    """Return a text about the slowest consumer, or, for shared files, about the unread files."""
    slowest = max(status.consumers, key=lambda consumer: consumer.behind, default=None)
    if slowest is None or not slowest.behind:
        return ""
    if status.mode == "broadcast":
        return f"{printable(slowest.name)} is {size(slowest.behind)} behind"
    holder = "".join(f", {printable(name)} has the oldest file" for name in status.holders[:1])
    return f"{size(slowest.behind)} to go{holder}"


class SendProgress(Protocol):
    """Receives how much of each file is published."""

    def report(self, name: str, published: int) -> None: ...


class _NoProgress:
    """Shows nothing."""

    def report(self, name: str, published: int) -> None:
        """Do nothing."""


class _SpeedColumn(ProgressColumn):
    """Shows bytes per second in binary units; the column of Rich shows decimal units."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("?" if speed is None else f"{size(speed)}/s", "progress.data.speed")


class _ProgressBar:
    """Shows a bar for all files, and the consumer that is furthest behind."""

    def __init__(self, bars: Progress, feed: FileFeed, total: int) -> None:
        self._bars = bars
        self._feed = FeedProgress(feed)
        self._line = bars.add_task("", total=total or None, slow="")
        self._name = ""
        self._before = self._current = 0

    def report(self, name: str, published: int) -> None:
        """Show that *published* bytes of the file *name* have been published."""
        if name != self._name:
            self._name, self._before = name, self._before + self._current
        self._current = published
        done = self._before + published
        slow = untrusted_markup(self._feed.text())
        self._bars.update(self._line, completed=done, description=untrusted_markup(name), slow=slow)


@contextmanager
def send_progress(feed: FileFeed, folder: Path, *, quiet: bool) -> Iterator[SendProgress]:
    """Show the reported progress within the context, if standard error is a terminal."""
    out = console(stderr=True)
    if quiet or not out.is_terminal:
        yield _NoProgress()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        _SpeedColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[slow]}"),
    )
    with Progress(*columns, console=out, transient=True) as bars:
        yield _ProgressBar(bars, feed, _bytes_in(folder))


def _bytes_in(folder: Path) -> int:
    """Return the total size of all files on disk. Compressed files become larger when sent."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(root, name).stat().st_size
    return total
