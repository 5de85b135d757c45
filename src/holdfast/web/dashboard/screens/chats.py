"""Chats: how far each reader is, what is kept, and who holds that back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from .... import AsyncHoldfast, ChatStatus, NoSuchChat
from ..contents import shown as shown_messages
from ..gathering import for_each
from ..listing import REMEMBERED, page_of
from ..look import Look
from ..screen import Page, Screen

LATEST: Final = 20
"""Messages of a chat that are shown."""

READERS: Final = 100
"""Members that are shown, those who are furthest behind."""


@dataclass(frozen=True, slots=True)
class Hold:
    """What is kept in a chat because somebody has not read it.

    Attributes:
        user: who is furthest behind of those for whom it is kept.
        others: how many are as far behind.
        messages: how many.
        alone: how many of these would go if that user, or those who are as far behind, read them.
        lets_go_at: when they go all the same.
    """

    user: str
    others: int
    messages: int
    alone: int
    lets_go_at: datetime | None


def hold_of(status: ChatStatus) -> Hold | None:
    """Who holds back what is kept; None: nobody does."""
    holders = [reader for reader in status.behind if reader.holds_back]
    if not holders:
        return None
    first = holders[0]
    alike = [reader for reader in holders if reader.unread == first.unread]
    rest = holders[len(alike) :]
    alone = first.unread - (rest[0].unread if rest else 0)
    return Hold(first.user, len(alike) - 1, first.unread, alone, first.lets_go_at)


async def show_chats(look: Look) -> dict[str, Any]:
    """A page of the chats that were used last."""
    hf = look.hf
    names, where = page_of(look, await hf.chats(limit=REMEMBERED))
    found = await for_each(names, lambda name: _status(hf, name, 1))
    return {
        **where,
        "chats": [
            {"chat_id": name, "status": status, "kept": kept(status)}
            for name, status in found.items()
            if status is not None
        ],
    }


async def show_chat(look: Look) -> dict[str, Any]:
    """One chat: its readers, and what was said last."""
    name = look.needed("id")
    status = await _status(look.hf, name, READERS)
    if status is None:
        return {"chat_id": name, "status": None}
    return {
        "chat_id": name,
        "status": status,
        "kept": kept(status),
        "hold": hold_of(status),
        "latest": LATEST,
        "messages": shown_messages(look, await look.hf.chat(name).history(limit=LATEST)),
    }


def kept(status: ChatStatus | None) -> int:
    """How many messages of a chat are there."""
    return max(0, status.last_seq - status.first_seq + 1) if status else 0


async def _status(hf: AsyncHoldfast, name: str, readers: int) -> ChatStatus | None:
    try:
        return await hf.chat(name).status(limit=readers)
    except NoSuchChat:
        return None


SCREEN: Final = Screen(
    "Chats", "Locks and messages", (Page("chats", show_chats), Page("chat", show_chat))
)
