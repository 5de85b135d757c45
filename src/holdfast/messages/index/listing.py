"""What the list of a user says."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import NamedTuple


class News(NamedTuple):
    """What a list says beside an earlier look at it.

    Attributes:
        list_is_lost: whether it is another list: the server has lost the first one.
        unchanged: the chats that stand there as they did.
    """

    list_is_lost: bool
    unchanged: Container[str]


class Listing(NamedTuple):
    """The list of one user.

    Attributes:
        began: when the list did (us); 0: there is none.
        chats: id → when it was noted, as stored; the latest first.
    """

    began: int
    chats: Mapping[str, bytes]

    def since(self, before: Listing, *, assumed: Iterable[str]) -> News:
        """What became of the list *before*, in which the chats *assumed* stood as they do now."""
        same = {chat for chat, noted in before.chats.items() if self.chats.get(chat) == noted}
        return News(before.began not in (0, self.began), same.union(assumed))
