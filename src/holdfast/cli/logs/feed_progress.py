"""Who holds a feed up, for progress lines."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from ... import FeedStatus, FileFeed, HoldfastError
from ...inspect.formats import size
from ..output import printable

POLL_S: Final = 1.0


class FeedProgress:
    """Reads at most once a second which consumer is furthest behind."""

    def __init__(self, feed: FileFeed) -> None:
        self._feed = feed
        self._read_at = 0.0
        self._text = ""

    def text(self) -> str:
        """Return who is slow, as in `geo-2 is 12.3 MiB behind`; empty if no consumer is behind."""
        if time.monotonic() - self._read_at > POLL_S:
            self._read_at = time.monotonic()
            with suppress(HoldfastError):
                self._text = progress_of(self._feed.status())
        return self._text


def progress_of(status: FeedStatus) -> str:
    """Return the slowest consumer; for shared files, what is left and who holds the oldest."""
    slowest = max(status.consumers, key=lambda consumer: consumer.behind, default=None)
    if slowest is None or not slowest.behind:
        return ""
    if status.mode == "broadcast":
        return f"{printable(slowest.name)} is {size(slowest.behind)} behind"
    holder = "".join(f", {printable(name)} has the oldest file" for name in status.holders[:1])
    return f"{size(slowest.behind)} to go{holder}"
