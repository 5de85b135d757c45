"""Parse and compare lists of the chats of one user."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..core.names import encode_name
from ..errors import InvalidName

_OTHERS: Final = -10_000_000_000_000.0
"""Added to the score of a chat that is not the user's own (see `lua/parts/chat_list.lua`)."""


class ChatList(NamedTuple):
    """Hold the list of the chats of one user.

    Attributes:
        created_us: when the list was created (us since 1970); 0: there is no list.
        chats: chat → stored score. The user's own chats come first, then the others; both sorted by
            when they were added, the latest first.
        skipped: number of chats of the user that are not in this list, because there are too many.
        stored: the reply of the server that was parsed.
    """

    created_us: int
    chats: Mapping[str, bytes]
    skipped: int = 0
    stored: Sequence[bytes] = ()

    @classmethod
    def of(cls, reply: Sequence[bytes], before: ChatList, skipped: int = 0) -> ChatList:
        """Parse a *reply* of chats and scores, alternating.

        If *before* was parsed from the same reply, return the object *before* itself.

        Args:
            reply: the reply.
            before: the list that was read before.
            skipped: number of chats that are not in the reply.
        """
        if reply == before.stored and skipped == before.skipped:
            return before
        scores = dict(zip(reply[::2], reply[1::2], strict=True))
        created_us = float(scores.pop(b"", 0))
        chats = {chat: score for stored, score in scores.items() if (chat := _chat_id(stored))}
        return cls(int(created_us) if math.isfinite(created_us) else 0, chats, skipped, reply)

    def is_own(self, chat: str) -> bool:
        """Return whether *chat* is the user's own (see `Inbox`)."""
        return not self.chats[chat].startswith(b"-")

    def changed_since(self, before: ChatList) -> set[str]:
        """Return the chats that were added, added again, or removed since *before*."""
        return {chat for chat, _ in self.chats.items() ^ before.chats.items()}

    def unchanged_since(self, before: ChatList) -> set[str]:
        """Return the chats that are in both lists and were not added again since *before*."""
        return {
            chat
            for chat, score in before.chats.items()
            if (now := self.chats.get(chat)) == score
            or (now is not None and _added_ms(now) == _added_ms(score))
        }

    def replaces(self, before: ChatList) -> bool:
        """Return whether the server has lost the list *before*, so that this is a new list."""
        return before.created_us not in (0, self.created_us)


NO_CHATS: Final = ChatList(0, {})
"""A list that was not read yet."""


def _added_ms(score: bytes) -> float:
    """Return when a chat was added (ms), from its score."""
    added_ms = float(score)
    return added_ms - _OTHERS if added_ms < 0 else added_ms


def _chat_id(stored: bytes) -> str:
    """Return the id of a chat; empty if *stored* is not a valid id."""
    try:
        chat = stored.decode()
        encode_name(chat)
    except (UnicodeDecodeError, InvalidName):
        return ""
    return chat
