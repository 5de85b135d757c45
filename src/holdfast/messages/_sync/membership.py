# Generated from _async/membership.py by tools/unasync.py: edit that, then run `make sync`.
"""The list of a user's chats: written before joining and after leaving, repaired on reading."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from ...core._sync.caller import Caller, Step
from ...core.names import Namespace, Unit
from ...core.script import Script
from ...errors import HoldfastError
from .. import keys
from ..chat_list import ChatList

ADD_CHAT: Final = Script.load("holdfast.messages", "add_chat")
REMOVE_CHATS: Final = Script.load("holdfast.messages", "remove_chats")

MAX_CHATS: Final = 1_000
"""Chats of a user's own that are looked at: those noted last."""

MAX_OTHERS: Final = 1_000
"""Chats to which others have added the user: more than `lua/parts/crowd.lua` leaves there."""

FRESH_MS: Final = 60_000
"""A note younger than this may be of somebody who is about to join."""

_AGAIN_S: Final = 3600.0
_REMEMBERED: Final = 65_536


class Membership:
    """The lists of all users.

    Args:
        caller: how to reach the server.
        namespace: whose they are.
    """

    def __init__(self, caller: Caller, namespace: Namespace) -> None:
        self._caller = caller
        self._namespace = namespace
        self._acted: dict[tuple[str, str], float] = {}

    def unit(self, user: str) -> Unit:
        """Where the list of a user lives."""
        return self._namespace.unit(keys.INBOX, user)

    def add(self, users: Sequence[str], chat_id: str, *, by: str = "") -> list[bytes]:
        """Note that each of *users* has a chat, or is about to; and wake those who wait for news.

        Args:
            users: who.
            chat_id: which.
            by: who adds them; empty if nobody else does. Until a user has done something in the
                chat, it counts among those that *by* has put there.

        Returns:
            Of each the note, to take it off again.

        Raises:
            ServerUnavailable: some are not noted.
        """
        return self._told([(user, f"={by if by != user else ''}") for user in users], chat_id)

    def has_acted(self, user: str, chat_id: str) -> bool:
        """Return whether the list of *user* was told lately that it does something in a chat."""
        return time.monotonic() - self._acted.get((user, chat_id), -_AGAIN_S) < _AGAIN_S

    def acts(self, user: str, chat_id: str) -> None:
        """Note that *user* does something in a chat, once an hour. A hint, so trouble is none."""
        if self.has_acted(user, chat_id):
            return
        if len(self._acted) >= _REMEMBERED:
            self._acted.clear()
        self._acted[user, chat_id] = time.monotonic()
        try:
            self._told([(user, "")], chat_id)
        except HoldfastError:
            self._acted.pop((user, chat_id), None)

    def _told(self, users: Sequence[tuple[str, str]], chat_id: str) -> list[bytes]:
        """Tell the list of each user about a chat, and why it stands there."""
        steps: list[Step] = []
        for user, why in users:
            unit = self.unit(user)
            steps.append((unit, ADD_CHAT.keys(unit), [chat_id, unit.key("bell"), why]))
        notes = self._caller.call_many(ADD_CHAT, steps, harmless=True, durable=False)
        for answer in notes:
            if isinstance(answer, HoldfastError):
                raise answer
        return notes

    def size(self, user: str) -> int:
        """Return how many chats a look at the inbox of *user* looks at."""
        unit = self.unit(user)
        noted: int = self._caller.read(unit, "ZCARD", keys.chats(unit))
        return min(max(0, noted - 1), MAX_CHATS + MAX_OTHERS)

    def read(self, user: str) -> ChatList:
        """The list of *user*."""
        unit = self.unit(user)
        name = keys.chats(unit)
        reply = self._caller.read(unit, "ZRANGE", name, 0, MAX_CHATS, "REV", "WITHSCORES")
        if len(reply) > 2 * MAX_CHATS:
            reply += self._caller.read(
                *(unit, "ZRANGE", name, "(0", "-inf", "BYSCORE", "REV"),
                *("LIMIT", 0, MAX_OTHERS, "WITHSCORES"),
            )
        return ChatList.of(reply)

    def noted(self, user: str, chat_id: str) -> bytes | None:
        """When a chat was noted, as stored; None: it is not."""
        unit = self.unit(user)
        found: bytes | None = self._caller.read(unit, "ZSCORE", keys.chats(unit), chat_id)
        return found

    def remove(self, user: str, chats: Mapping[str, bytes], *, age_ms: int) -> None:
        """Take chats off the list, unless they were noted anew. A hint, so trouble is none.

        Args:
            user: whose list.
            chats: id → when it was noted, as it was read.
            age_ms: younger notes stay.
        """
        unit = self.unit(user)
        pairs = [part for pair in chats.items() for part in pair]
        try:
            self._caller.call(
                REMOVE_CHATS,
                unit,
                REMOVE_CHATS.keys(unit),
                [age_ms, *pairs],
                harmless=True,
                durable=False,
            )
        except HoldfastError:
            return
