"""What a terminal shows while files are sent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bars

from ..output import console, visible
from .slowest import Slowest

if TYPE_CHECKING:
    from ... import FileFeed


class Progress(Protocol):
    """Hears how far the files are."""

    def told(self, name: str, published: int) -> None: ...


class _Silent:
    """Nobody looks."""

    def told(self, name: str, published: int) -> None:
        """Nothing."""


class _Shown:
    """A line for all files, and one for the consumer that is furthest behind."""

    def __init__(self, bars: Bars, feed: FileFeed, total: int) -> None:
        self._bars = bars
        self._slowest = Slowest(feed)
        self._line = bars.add_task("", total=total or None, slow="")
        self._name = ""
        self._before = self._current = 0

    def told(self, name: str, published: int) -> None:
        """So many bytes of this file are published."""
        if name != self._name:
            self._name, self._before = name, self._before + self._current
        self._current = published
        done = self._before + published
        slow = visible(self._slowest.told())
        self._bars.update(self._line, completed=done, description=visible(name), slow=slow)


@contextmanager
def watched(feed: FileFeed, folder: Path, *, quiet: bool) -> Iterator[Progress]:
    """While the context lasts, what is told is shown, if standard error is a terminal."""
    out = console(stderr=True)
    if quiet or not out.is_terminal:
        yield _Silent()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[slow]}"),
    )
    with Bars(*columns, console=out, transient=True) as bars:
        yield _Shown(bars, feed, _bytes_in(folder))


def _bytes_in(folder: Path) -> int:
    """What there is to send, as far as it can be seen; packed files turn out to be more."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(root, name).stat().st_size
    return total
