"""The list of the chats of one user, as read from the server."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..errors import InvalidName
from .options import checked_name

_OTHERS: Final = -10_000_000_000_000.0
"""Added to the score of a chat in which the user did nothing yet: `lua/parts/chat_list.lua`."""


class ChatList(NamedTuple):
    """The chats of one user.

    Attributes:
        created_us: when the list was created (us since 1970); 0: there is no list.
        chats: id → its score, as stored. The user's own chats come first, the latest of them first.
    """

    created_us: int
    chats: Mapping[str, bytes]

    @classmethod
    def of(cls, reply: Sequence[bytes]) -> ChatList:
        """Return the list in a reply of ids, each with its score."""
        scores = dict(zip(reply[::2], reply[1::2], strict=True))
        created_us = float(scores.pop(b"", 0))
        found = ((_chat_id(chat), score) for chat, score in scores.items())
        chats = {chat: score for chat, score in found if chat}
        return cls(int(created_us) if math.isfinite(created_us) else 0, chats)

    def is_own(self, chat: str) -> bool:
        """Return whether the user created or joined *chat*, or sent or acknowledged in it."""
        return not self.chats[chat].startswith(b"-")

    def changed_since(self, before: ChatList) -> set[str]:
        """Return the chats that were added, added again, or removed since *before*."""
        return {chat for chat, _ in self.chats.items() ^ before.chats.items()}

    def unchanged_since(self, before: ChatList) -> set[str]:
        """Return the chats in both lists that were not added again since *before*."""
        return {
            chat
            for chat, score in before.chats.items()
            if chat in self.chats and _added_ms(self.chats[chat]) == _added_ms(score)
        }

    def replaces(self, before: ChatList) -> bool:
        """Return whether the server has lost the list *before*, and this is a new one."""
        return before.created_us not in (0, self.created_us)


def _added_ms(score: bytes) -> float:
    """Return when a chat was added, whether it is one of the user's own or not."""
    added_ms = float(score)
    return added_ms - _OTHERS if added_ms < 0 else added_ms


def _chat_id(stored: bytes) -> str:
    """Return the id of a chat; empty if another program wrote something that cannot be an id."""
    try:
        return checked_name(stored.decode(), "a chat")
    except (UnicodeDecodeError, InvalidName):
        return ""
