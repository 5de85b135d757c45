"""How what is asked for is shared between chats, and between the calls that ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .chat_list import ChatList
from .message import FetchReply

LOGS_PER_CALL: Final = 64

_LEAST_MESSAGES: Final = 16
_LEAST_BYTES: Final = 64 << 10


def share(limit: int, size: int, calls: int) -> tuple[int, int]:
    """Messages and bytes that each of *calls* may bring.

    Nobody knows beforehand which of them has the oldest messages, so each brings more than its
    share; but if there are many, not all that there is.
    """
    if calls <= 1 or not limit:
        return limit, size
    messages = min(limit, max(_LEAST_MESSAGES, -(-4 * limit // calls)))
    return messages, max(_LEAST_BYTES, size // calls)


def in_order(rows: Mapping[str, FetchReply], listing: ChatList) -> list[str]:
    """Return the chats by their oldest unread message; those that have lost it first.

    The chats in which the user has done nothing yet come last: others put them there.
    """
    return sorted(rows, key=lambda chat: (not listing.is_own(chat), rows[chat].oldest_ms or 0))
