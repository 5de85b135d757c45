"""Maintain the list of each user's chats. Only the chat itself decides who is a member.

A client adds a chat to the list before the user joins the chat, and removes it after the user has
left. If the client crashes in between, the next read of the inbox corrects the list.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from ...core._async.caller import Argument, AsyncCaller, Step
from ...core.names import Namespace, Unit
from ...core.script import Script
from ...errors import HoldfastError
from .. import keys
from ..chat_list import ChatList

ADD_CHAT: Final = Script.load("holdfast.messages", "add_chat")
REMOVE_CHATS: Final = Script.load("holdfast.messages", "remove_chats")

MAX_CHATS: Final = 1_000
"""Maximum number of the user's own chats that are read: those added last."""

MAX_OTHERS: Final = 1_000
"""Maximum number of chats that are read among those to which other users added this user. The
scripts that use `lua/parts/chat_list.lua` limit this number, too."""

JOINING_MS: Final = 60_000
"""Milliseconds for which a chat stays in a list although the user is not a member: the user may be
about to join."""

_ACTIVE_AGAIN_S: Final = 3600.0
"""Seconds after which the activity of a user in a chat is recorded again."""

_MAX_REMEMBERED: Final = 65_536
"""Number of pairs (user, chat) in `_active` at which the dict is cleared."""


class AsyncMembership:
    """Read and change the lists of the chats of all users.

    Args:
        caller: calls the server.
        namespace: namespace of the users.
    """

    def __init__(self, caller: AsyncCaller, namespace: Namespace) -> None:
        self._caller = caller
        self._namespace = namespace
        self._active: dict[tuple[str, str], float] = {}

    def unit(self, user: str) -> Unit:
        """Return the unit that has the list of *user*."""
        return self._namespace.unit(keys.INBOX, user)

    async def add(self, users: Sequence[str], chat_id: str, *, by: str = "") -> list[bytes]:
        """Add a chat to the lists of *users*, and notify their waiting readers.

        Args:
            users: members of the chat, or users who are about to join it.
            chat_id: the chat.
            by: the user who adds them; empty if they join by themselves. A chat that another user
                added is not the user's own until the user is active in it.

        Returns:
            The score of the chat in each list, for `remove`.

        Raises:
            ServerUnavailable: some lists do not contain the chat.
        """
        return await self._add([(user, chat_id, f"={by if by != user else ''}") for user in users])

    async def try_to_add(self, users: Sequence[str], chat_id: str, *, by: str) -> None:
        """Add a chat again after *users* have joined, because a read of the inbox may have removed
        the first entry before the user was a member. Ignore errors.
        """
        try:
            await self.add(users, chat_id, by=by)
        except HoldfastError:
            return

    def is_active(self, user: str, chat_id: str) -> bool:
        """Return whether `note_activity` was called for this user and chat in the last hour."""
        since_s = time.monotonic() - self._active.get((user, chat_id), -_ACTIVE_AGAIN_S)
        return since_s < _ACTIVE_AGAIN_S

    async def note_activity(self, user: str, *chats: str) -> None:
        """Record in the list of *user* that the user is active in some chats, at most once an hour
        for each. Ignore errors, because the list is only a hint."""
        pairs = [(user, chat) for chat in chats if not self.is_active(user, chat)]
        if not pairs:
            return
        if len(self._active) + len(pairs) > _MAX_REMEMBERED:
            self._active.clear()
        self._active.update(dict.fromkeys(pairs, time.monotonic()))
        try:
            await self._add([(user, chat, "") for _, chat in pairs])
        except HoldfastError:
            for pair in pairs:
                self._active.pop(pair, None)

    async def _add(self, entries: Sequence[tuple[str, str, str]]) -> list[bytes]:
        """Add chats to lists. *entries* are the user with the list, the chat, and the argument *by*
        of `add_chat.lua`."""
        steps: list[Step] = []
        for user, chat, by in entries:
            unit = self.unit(user)
            steps.append((unit, ADD_CHAT.keys(unit), [chat, unit.channel, by]))
        scores = await self._caller.call_many(ADD_CHAT, steps, harmless=True, durable=False)
        for answer in scores:
            if isinstance(answer, HoldfastError):
                raise answer
        return scores

    async def size(self, user: str) -> int:
        """Return how many chats `read` returns for *user*."""
        unit = self.unit(user)
        listed: int = await self._caller.read(unit, "ZCARD", keys.chats(unit))
        return min(max(0, listed - 1), MAX_CHATS + MAX_OTHERS)

    def list_command(self, user: str) -> tuple[Argument, ...]:
        """Return the command that reads the first `MAX_CHATS` chats in the list of *user*."""
        return "ZRANGE", keys.chats(self.unit(user)), 0, MAX_CHATS, "REV", "WITHSCORES"

    async def read(
        self, user: str, before: ChatList, reply: Sequence[bytes] | None = None
    ) -> ChatList:
        """Return the list of *user*. If it has not changed, return the object *before* itself.

        Args:
            user: the user.
            before: the list that was read before.
            reply: the reply to `list_command`; None: send this command.
        """
        unit = self.unit(user)
        name = keys.chats(unit)
        if reply is None:
            reply = await self._caller.read(unit, *self.list_command(user))
        skipped = 0
        if len(reply) > 2 * MAX_CHATS:
            listed: int = await self._caller.read(unit, "ZCARD", name)
            others = await self._caller.read(
                *(unit, "ZRANGE", name, "(0", "-inf", "BYSCORE", "REV"),
                *("LIMIT", 0, MAX_OTHERS, "WITHSCORES"),
            )
            reply = [*reply, *others]
            skipped = max(0, listed - len(reply) // 2)
        return ChatList.of(reply, before, skipped)

    async def score(self, user: str, chat_id: str) -> bytes | None:
        """Return the score of a chat in the list of *user*; None if it is not in the list."""
        unit = self.unit(user)
        found: bytes | None = await self._caller.read(unit, "ZSCORE", keys.chats(unit), chat_id)
        return found

    async def remove(self, user: str, chats: Mapping[str, bytes], *, age_ms: int) -> None:
        """Remove chats from the list of *user*. Ignore errors, because the list is only a hint.

        Args:
            user: the user.
            chats: chat → the score that was read. A chat with another score now stays, because it
                was added again.
            age_ms: a chat that was added less than this time ago (ms) stays.
        """
        unit = self.unit(user)
        args = [age_ms, *(part for pair in chats.items() for part in pair)]
        names = REMOVE_CHATS.keys(unit)
        try:
            await self._caller.call(REMOVE_CHATS, unit, names, args, harmless=True, durable=False)
        except HoldfastError:
            return
