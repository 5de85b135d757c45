"""Show mailboxes: the unread messages, the age of the oldest, and the last read of the owner."""

from __future__ import annotations

from typing import Any, Final

from ....inspect.survey import for_each
from ..message_list import listed
from ..page_request import PageRequest
from ..pagination import MAX_NAMES, page_of
from ..screen import DashboardScreen, Page

LATEST: Final = 20
"""How many of the latest messages of a mailbox to show."""


async def show_mailboxes(view: PageRequest) -> dict[str, Any]:
    """Return a page of the mailboxes, the most recently used first."""
    hf = view.hf
    names, where = page_of(view, await hf.mailboxes(limit=MAX_NAMES))
    found = await for_each(names, lambda name: hf.mailbox(name).status())
    return {
        **where,
        "mailboxes": [{"name": name, "status": status} for name, status in found.items()],
    }


async def show_mailbox(view: PageRequest) -> dict[str, Any]:
    """Return one mailbox with its latest messages."""
    name = view.required("name")
    box = view.hf.mailbox(name)
    return {
        "name": name,
        "status": await box.status(),
        "latest": LATEST,
        "messages": listed(view, await box.latest(LATEST)),
    }


SCREEN: Final = DashboardScreen(
    "Mailboxes",
    "Locks and messages",
    (Page("mailboxes", show_mailboxes), Page("mailbox", show_mailbox)),
)
