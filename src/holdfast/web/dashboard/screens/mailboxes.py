"""Mailboxes: how much waits in each, for how long, and whether its owner was here."""

from __future__ import annotations

from typing import Any, Final

from ..contents import shown as shown_messages
from ..gathering import for_each
from ..listing import REMEMBERED, page_of
from ..look import Look
from ..screen import Page, Screen

LATEST: Final = 20
"""Messages of a mailbox that are shown."""


async def show_mailboxes(look: Look) -> dict[str, Any]:
    """A page of the mailboxes that were used last."""
    hf = look.hf
    names, where = page_of(look, await hf.mailboxes(limit=REMEMBERED))
    found = await for_each(names, lambda name: hf.mailbox(name).status())
    return {
        **where,
        "mailboxes": [{"name": name, "status": status} for name, status in found.items()],
    }


async def show_mailbox(look: Look) -> dict[str, Any]:
    """One mailbox, and what came last."""
    name = look.needed("name")
    box = look.hf.mailbox(name)
    return {
        "name": name,
        "status": await box.status(),
        "latest": LATEST,
        "messages": shown_messages(look, await box.latest(LATEST)),
    }


SCREEN: Final = Screen(
    "Mailboxes",
    "Locks and messages",
    (Page("mailboxes", show_mailboxes), Page("mailbox", show_mailbox)),
)
