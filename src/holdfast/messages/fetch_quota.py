"""Divide the limits of one fetch between its calls, and sort the replies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .chat_list import ChatList
from .message import FetchReply

LOGS_PER_CALL: Final = 64
"""Maximum number of chats that one call reads."""

_LEAST_MESSAGES: Final = 16
_LEAST_BYTES: Final = 64 << 10


def quota(limit: int, size: int, calls: int) -> tuple[int, int]:
    """Return how many messages and bytes each of *calls* calls may return.

    A call may return more messages than its share of *limit*, because the client does not know
    which call will return the oldest messages.
    """
    if calls <= 1 or not limit:
        return limit, size
    messages = min(limit, max(_LEAST_MESSAGES, -(-4 * limit // calls)))
    return messages, max(_LEAST_BYTES, size // calls)


def in_order(replies: Mapping[str, FetchReply], listed: ChatList) -> list[str]:
    """Return the chats sorted by the time of their oldest unread message.

    Chats in which this time is unknown come first. Chats that are not the user's own come last.
    """
    return sorted(replies, key=lambda chat: (not listed.is_own(chat), replies[chat].oldest_ms or 0))
