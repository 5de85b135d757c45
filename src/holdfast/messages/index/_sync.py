# Generated from _async.py by tools/unasync.py: edit that one, then `make sync`.
"""The list of a user's chats: written before joining and after leaving, repaired on reading."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from ...core.call._sync import Caller, Step
from ...core.names import Namespace, Unit
from ...core.script import Script
from ...errors import HoldfastError
from .. import keys
from .listing import Listing

ENLIST: Final = Script.load("holdfast.messages", "enlist")
STRIKE: Final = Script.load("holdfast.messages", "strike")

MAX_CHATS: Final = 1_000
"""Chats of a user that are looked at: those noted last."""

FRESH_MS: Final = 60_000
"""A note younger than this may be of somebody who is about to join."""

_AGAIN_S: Final = 3600.0
_REMEMBERED: Final = 4096


class Index:
    """The lists of all users.

    Args:
        caller: how to reach the server.
        namespace: whose they are.
    """

    def __init__(self, caller: Caller, namespace: Namespace) -> None:
        self._caller = caller
        self._namespace = namespace
        self._kept: dict[str, float] = {}

    def unit(self, user: str) -> Unit:
        """Where the list of a user lives."""
        return self._namespace.unit(keys.INBOX, user)

    def enlist(self, users: Sequence[str], chat_id: str) -> list[bytes]:
        """Note that each of *users* has a chat, or is about to; and wake those who wait for news.

        Args:
            users: who.
            chat_id: which; empty for none: the list is just in use.

        Returns:
            Of each the note, to take it off again.

        Raises:
            ServerUnavailable: some are not noted.
        """
        steps: list[Step] = []
        for user in users:
            unit = self.unit(user)
            steps.append((unit, [keys.chats(unit)], [chat_id, unit.key("bell")]))
        notes = self._caller.call_many(ENLIST, steps, harmless=True, durable=False)
        for answer in notes:
            if isinstance(answer, HoldfastError):
                raise answer
        return notes

    def keep(self, user: str) -> None:
        """The list of *user* is in use. Asks once an hour; a hint, so trouble is none."""
        now = time.monotonic()
        if now - self._kept.get(user, -_AGAIN_S) < _AGAIN_S:
            return
        if len(self._kept) >= _REMEMBERED:
            self._kept.clear()
        self._kept[user] = now
        try:
            self.enlist([user], "")
        except HoldfastError:
            self._kept.pop(user, None)

    def read(self, user: str) -> Listing:
        """The list of *user*."""
        unit = self.unit(user)
        reply = self._caller.read(
            unit, "ZRANGE", keys.chats(unit), 0, MAX_CHATS, "REV", "WITHSCORES"
        )
        noted = dict(zip(reply[::2], reply[1::2], strict=True))
        began = int(float(noted.pop(b"", 0)))
        return Listing(began, {chat.decode(): ms for chat, ms in noted.items()})

    def noted(self, user: str, chat_id: str) -> bytes | None:
        """When a chat was noted, as stored; None: it is not."""
        unit = self.unit(user)
        found: bytes | None = self._caller.read(unit, "ZSCORE", keys.chats(unit), chat_id)
        return found

    def strike(self, user: str, chats: Mapping[str, bytes], *, age_ms: int) -> None:
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
                STRIKE,
                unit,
                [keys.chats(unit)],
                [age_ms, *pairs],
                harmless=True,
                durable=False,
            )
        except HoldfastError:
            return
