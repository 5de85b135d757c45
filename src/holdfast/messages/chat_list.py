"""What the list of a user says."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ..errors import InvalidName
from .options import checked_name

_OTHERS: Final = -10_000_000_000_000.0
"""Added to the note of a chat in which the user did nothing yet: `lua/parts/listing.lua`."""


class ListChanges(NamedTuple):
    """What a list says beside an earlier look at it.

    Attributes:
        list_is_lost: whether it is another list: the server has lost the first one.
        unchanged: the chats that stand there as they did.
    """

    list_is_lost: bool
    unchanged: Container[str]


class ChatList(NamedTuple):
    """The list of one user.

    Attributes:
        began: when the list did (us); 0: there is none.
        chats: id → when it was noted, as stored; the user's own first, and of these the latest.
    """

    began: int
    chats: Mapping[str, bytes]

    @classmethod
    def of(cls, reply: Sequence[bytes]) -> ChatList:
        """Return the list of a reply: ids, each with its score."""
        noted = dict(zip(reply[::2], reply[1::2], strict=True))
        began = float(noted.pop(b"", 0))
        found = ((_chat_id(chat), score) for chat, score in noted.items())
        chats = {chat: score for chat, score in found if chat}
        return cls(int(began) if math.isfinite(began) else 0, chats)

    def is_own(self, chat: str) -> bool:
        """Return whether the user created, joined, wrote or acknowledged something in *chat*."""
        return not self.chats[chat].startswith(b"-")

    def changed_since(self, before: ChatList) -> set[str]:
        """Return the chats that were added, noted anew, or taken off since *before*."""
        return {chat for chat, _ in self.chats.items() ^ before.chats.items()}

    def since(self, before: ChatList, *, assumed: Iterable[str]) -> ListChanges:
        """What became of the list *before*, in which the chats *assumed* stood as they do now."""
        same = {
            chat
            for chat, noted in before.chats.items()
            if chat in self.chats and _noted_ms(self.chats[chat]) == _noted_ms(noted)
        }
        return ListChanges(before.began not in (0, self.began), same.union(assumed))


def _noted_ms(score: bytes) -> float:
    """Return when a chat was noted, whether the user has done something in it since or not."""
    note = float(score)
    return note - _OTHERS if note < 0 else note


def _chat_id(stored: bytes) -> str:
    """Return the id of a chat; empty for what can be none, as another program may have written."""
    try:
        return checked_name(stored.decode(), "a chat")
    except (UnicodeDecodeError, InvalidName):
        return ""
