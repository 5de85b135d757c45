"""Who holds a feed up, for lines that tell how far it is."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

from ... import FeedStatus, FileFeed, HoldfastError
from ..output import printable, size

LOOK_S: Final = 1.0
"""Between two looks."""


class Slowest:
    """Looks now and then who is furthest behind."""

    def __init__(self, feed: FileFeed) -> None:
        self._feed = feed
        self._looked_at = 0.0
        self._told = ""

    def told(self) -> str:
        """As in `geo-2 is 12.3 MiB behind`; empty when nobody is."""
        if time.monotonic() - self._looked_at > LOOK_S:
            self._looked_at = time.monotonic()
            with suppress(HoldfastError):
                self._told = told(self._feed.status())
        return self._told


def told(status: FeedStatus) -> str:
    """Who is furthest behind; where they share the files, what is left and who has the oldest."""
    slowest = max(status.consumers, key=lambda consumer: consumer.behind, default=None)
    if slowest is None or not slowest.behind:
        return ""
    if status.mode == "broadcast":
        return f"{printable(slowest.name)} is {size(slowest.behind)} behind"
    holder = "".join(f", {printable(name)} has the oldest file" for name in status.holders[:1])
    return f"{size(slowest.behind)} to go{holder}"
