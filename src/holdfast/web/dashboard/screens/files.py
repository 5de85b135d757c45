"""File feeds: how much room they use, how far each consumer is, which files are left."""

from __future__ import annotations

from typing import Any, Final

from .... import FeedStatus
from ..gathering import for_each
from ..listing import REMEMBERED, page_of
from ..look import Look
from ..screen import Page, Screen

FILES: Final = 100
"""Files of a feed that are shown, the newest."""

FAILED: Final = 10
"""Files that failed too often whose names are shown, the newest."""


async def show_feeds(look: Look) -> dict[str, Any]:
    """A page of the feeds that were published to last."""
    hf = look.hf
    names, where = page_of(look, await hf.file_feeds(limit=REMEMBERED))
    found = await for_each(names, lambda name: hf.file_feed(name).status())
    return {
        **where,
        "feeds": [{"status": each, "done": done(each)} for each in found.values()],
    }


async def show_feed(look: Look) -> dict[str, Any]:
    """One feed."""
    feed = look.hf.file_feed(look.needed("name"))
    status = await feed.status()
    return {
        "name": feed.name,
        "status": status,
        "done": done(status),
        "shown": FILES,
        "files": await feed.files(limit=FILES),
        "failed": await feed.files(limit=FAILED, failed=True) if status.failed else [],
    }


def done(status: FeedStatus) -> float:
    """Which part of what was published the slowest consumer that lives is done with, 0 to 1."""
    waited_for = [each for each in status.consumers if each.alive] or status.consumers
    behind = max((each.behind for each in waited_for), default=status.bytes)
    if status.state == "over" or not status.bytes:
        return 1.0
    return max(0.0, 1 - behind / status.bytes)


SCREEN: Final = Screen("Files", "Data", (Page("feeds", show_feeds), Page("feed", show_feed)))
