"""Show chats: the progress of each member, and the messages that are kept for slow members."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from .... import AsyncHoldfast, ChatStatus, NoSuchChat
from ....inspect.survey import for_each
from ..message_list import listed
from ..page_request import PageRequest
from ..pagination import MAX_NAMES, page_of
from ..screen import DashboardScreen, Page

LATEST: Final = 20
"""How many of the latest messages of a chat to show."""

READERS: Final = 100
"""How many members of a chat to show: those furthest behind."""


@dataclass(frozen=True, slots=True)
class RetentionHold:
    """Describes the messages that a chat keeps because members have not read them.

    Attributes:
        user: the member furthest behind.
        others: how many other members are equally far behind.
        messages: how many messages are kept for *user*.
        alone: how many messages are kept only for *user* and these other members.
        lets_go_at: when the server drops the messages even if *user* does not read them.
    """

    user: str
    others: int
    messages: int
    alone: int
    lets_go_at: datetime | None


def hold_of(status: ChatStatus) -> RetentionHold | None:
    """Return which messages the chat keeps for slow members, or None if there are none."""
    holders = [reader for reader in status.behind if reader.holds_back]
    if not holders:
        return None
    first = holders[0]
    equal = [reader for reader in holders if reader.unread == first.unread]
    rest = holders[len(equal) :]
    alone = first.unread - (rest[0].unread if rest else 0)
    return RetentionHold(first.user, len(equal) - 1, first.unread, alone, first.lets_go_at)


async def show_chats(view: PageRequest) -> dict[str, Any]:
    """Return a page of the chats, the most recently used first."""
    hf = view.hf
    names, where = page_of(view, await hf.chats(limit=MAX_NAMES))
    found = await for_each(names, lambda name: _status(hf, name, 1))
    return {
        **where,
        "chats": [
            {"chat_id": name, "status": status, "kept": kept(status)}
            for name, status in found.items()
            if status is not None
        ],
    }


async def show_chat(view: PageRequest) -> dict[str, Any]:
    """Return one chat: its readers and its latest messages."""
    name = view.required("id")
    status = await _status(view.hf, name, READERS)
    if status is None:
        return {"chat_id": name, "status": None}
    return {
        "chat_id": name,
        "status": status,
        "kept": kept(status),
        "hold": hold_of(status),
        "latest": LATEST,
        "messages": listed(view, await view.hf.chat(name).history(limit=LATEST)),
    }


def kept(status: ChatStatus | None) -> int:
    """Return the number of messages that a chat keeps."""
    return max(0, status.last_seq - status.first_seq + 1) if status else 0


async def _status(hf: AsyncHoldfast, name: str, readers: int) -> ChatStatus | None:
    try:
        return await hf.chat(name).status(limit=readers)
    except NoSuchChat:
        return None


SCREEN: Final = DashboardScreen(
    "Chats", "Locks and messages", (Page("chats", show_chats), Page("chat", show_chat))
)
