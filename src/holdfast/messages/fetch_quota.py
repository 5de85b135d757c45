"""How the limits of one fetch are divided between the calls that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .chat_list import ChatList
from .message import FetchReply

LOGS_PER_CALL: Final = 64

_LEAST_MESSAGES: Final = 16
_LEAST_BYTES: Final = 64 << 10


def quota(limit: int, size: int, calls: int) -> tuple[int, int]:
    """Return how many messages and bytes each of *calls* may return.

    The client does not know which call returns the oldest messages, so each may return more than
    its share of *limit* and *size*.
    """
    if calls <= 1 or not limit:
        return limit, size
    messages = min(limit, max(_LEAST_MESSAGES, -(-4 * limit // calls)))
    return messages, max(_LEAST_BYTES, size // calls)


def in_order(replies: Mapping[str, FetchReply], listed: ChatList) -> list[str]:
    """Return the chats by their oldest unread message.

    Chats that have lost this message come first. Chats to which another user added this one, and in
    which this one has done nothing yet, come last.
    """
    return sorted(replies, key=lambda chat: (not listed.is_own(chat), replies[chat].oldest_ms or 0))
