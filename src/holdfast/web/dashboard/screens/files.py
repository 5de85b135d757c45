"""Show file feeds: the space that they use, the progress of each consumer, and unread files."""

from __future__ import annotations

from typing import Any, Final

from .... import FeedStatus
from ....inspect.survey import for_each
from ..page_request import PageRequest
from ..pagination import MAX_NAMES, page_of
from ..screen import DashboardScreen, Page

FILES: Final = 100
"""How many unread files of a feed to show: the newest."""

FAILED: Final = 10
"""How many failed files to name: the newest."""


async def show_feeds(view: PageRequest) -> dict[str, Any]:
    """Return a page of the feeds, the most recently used first."""
    hf = view.hf
    names, where = page_of(view, await hf.file_feeds(limit=MAX_NAMES))
    found = await for_each(names, lambda name: hf.file_feed(name).status())
    return {
        **where,
        "feeds": [{"status": each, "done": done(each)} for each in found.values()],
    }


async def show_feed(view: PageRequest) -> dict[str, Any]:
    """Return one feed."""
    feed = view.hf.file_feed(view.required("name"))
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
    """Return the share of the feed, 0 to 1, that the slowest connected consumer has read."""
    consumers = [each for each in status.consumers if each.alive] or status.consumers
    behind = max((each.behind for each in consumers), default=status.bytes)
    if status.state == "over" or not status.bytes:
        return 1.0
    return max(0.0, 1 - behind / status.bytes)


SCREEN: Final = DashboardScreen(
    "File feeds", "Data", (Page("feeds", show_feeds), Page("feed", show_feed))
)
