# Generated from _async/inbox_chats.py by tools/unasync.py: edit that, then run `make sync`.
"""Reads several chats of one user at once."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...core._sync.caller import Step
from ...core.script import Script
from ...errors import DecodeError, HoldfastError
from ..chat_list import ChatList
from ..fetch_quota import LOGS_PER_CALL, in_order, quota
from ..message import Batch, FetchReply, Gap, InboxResult, Position, batch_of
from ..seen_positions import SeenPositions, lost_since, position_text
from ..states import Unread
from .log import FETCH, REPLY_BYTES, UNREAD, Log
from .membership import JOINING_MS
from .messaging import Messaging


class InboxChats:
    """Reads new messages of several chats of one user.

    Args:
        messaging: gives access to the server.
        user: the user.
        seen: what was returned to the user.
    """

    def __init__(self, messaging: Messaging, user: str, seen: SeenPositions) -> None:
        self.seen = seen
        self._messaging = messaging
        self._user = user

    def read(
        self,
        listed: ChatList,
        chats: Iterable[str],
        seen: dict[str, Position],
        limit: int,
        after: Mapping[str, Position],
        *,
        before: ChatList,
    ) -> InboxResult:
        """Return the new messages of some chats.

        Args:
            listed: all chats of the user.
            chats: those of them to read, in the same order: the user's own come first.
            seen: the last positions of these chats, and of chats that left the list.
            limit: messages at most.
            after: the positions that the device gave.
            before: all chats of the user at the previous read.
        """
        replies, damaged = self._fetch(chats, listed, limit, seen, after)
        known = {chat: at for chat, at in seen.items() if chat not in damaged}
        unchanged = listed.unchanged_since(before).union(after)
        gone = list(
            self._gone(replies, known, list_is_lost=listed.replaces(before), unchanged=unchanged)
        )
        self._repair(listed, replies)
        mine = {chat: reply for chat, reply in replies.items() if _is_member(reply)}
        ordered = in_order(mine, listed)
        oldest = next((chat for chat in ordered if mine[chat].oldest_ms is not None), None)
        if oldest is not None and not mine[oldest].entries:  # no room beside the other chats
            mine |= (self._fetch([oldest], listed, limit, seen, after))[0]
        batches = [*gone, *self._batches(mine, ordered, seen, limit, after)]
        for batch in batches:
            self.seen.note(batch.source, batch.position)
        upto = {batch.source: batch.upto for batch in batches}
        unread = {chat for chat, reply in mine.items() if reply.is_cut or reply.entries}
        more = {chat for chat in unread if mine[chat].top > upto.get(chat, 0)}
        return InboxResult(batches, more, damaged)

    def _batches(
        self,
        replies: dict[str, FetchReply],
        ordered: Iterable[str],
        seen: dict[str, Position],
        limit: int,
        after: Container[str],
    ) -> Iterator[Batch]:
        """Yield the new messages of each chat, *limit* of them in all."""
        for chat in ordered:
            reply = replies[chat].first(limit)
            if reply.is_cut:
                continue
            lost = lost_since(reply, seen.get(chat), own=chat in after)
            if lost:
                self.seen.reset(chat, reply)
            else:
                self.seen.note(chat, Position(reply.epoch, 0))
                if reply.is_read:
                    continue
            batch = batch_of(chat, reply, lost)
            limit -= len(batch.messages)
            if batch:
                yield batch

    def _gone(
        self,
        replies: dict[str, FetchReply],
        seen: dict[str, Position],
        *,
        list_is_lost: bool,
        unchanged: Container[str],
    ) -> Iterator[Batch]:
        """Forget the chats that the user is no member of; yield a gap for those that were lost."""
        for chat, position in seen.items():
            reply = replies.get(chat)
            if reply is not None and reply.cursor is not None:
                continue
            self.seen.forget(chat)
            # A user who leaves a chat also removes it from the list. If a chat that does not exist
            # was added again, another user was about to add this one to it: nothing is lost.
            chat_is_lost = reply is not None and not reply.epoch and chat in unchanged
            if position.epoch and (list_is_lost if reply is None else chat_is_lost):
                yield Batch(chat, (), Gap(1, position.seq, "reset"), 0, 0)

    def _repair(self, listed: ChatList, replies: dict[str, FetchReply]) -> None:
        """Remove chats without this user from the list, unless the user may be about to join."""
        left = {chat: listed.chats[chat] for chat, reply in replies.items() if reply.cursor is None}
        if left:
            self._messaging.membership.remove(self._user, left, age_ms=JOINING_MS)

    def _fetch(
        self,
        chats: Iterable[str],
        listed: ChatList,
        limit: int,
        seen: Mapping[str, Position],
        after: Container[str],
    ) -> tuple[dict[str, FetchReply], dict[str, DecodeError]]:
        """Return the replies for *chats*, and the errors of damaged ones."""
        groups = self._grouped(chats)
        messages, size = quota(limit, REPLY_BYTES, len(groups))
        steps: list[Step] = []
        for group in groups:
            names = [name for _, log in group for name in log.fetch_keys]
            own = sum(listed.is_own(chat) for chat, _ in group)
            at = [position_text(seen.get(chat), own=chat in after) for chat, _ in group]
            limits = (messages, size, len(group), own)
            steps.append((group[0][1].unit, names, [self._user, *limits, *at]))
        replies: dict[str, FetchReply] = {}
        damaged: dict[str, DecodeError] = {}
        for group, answer in zip(groups, self._call(FETCH, steps), strict=True):
            for (chat, log), reply in zip(group, answer, strict=True):
                try:
                    replies[chat] = FetchReply.of(log.unit, reply)
                except DecodeError as error:
                    damaged[chat] = error
        return replies, damaged

    def unread(self, chats: Iterable[str]) -> list[tuple[str, Unread]]:
        """Return how many messages are unread, for those of *chats* that the user is a member of.

        Raises:
            DecodeError: a chat is damaged.
        """
        groups = self._grouped(chats)
        steps: list[Step] = []
        for group in groups:
            names = [name for _, log in group for name in log.unread_keys]
            steps.append((group[0][1].unit, names, [self._user, len(group)]))
        found: list[tuple[str, Unread]] = []
        for group, answer in zip(groups, self._call(UNREAD, steps), strict=True):
            for (chat, _), *reply in zip(group, answer[::2], answer[1::2], strict=True):
                if reply[0]:
                    found.append((chat, Unread.of(*reply)))
        return found

    def _call(self, script: Script, steps: Sequence[Step]) -> list[Any]:
        """Run *script* for each group of chats; raise the first error."""
        answers = self._messaging.caller.call_many(script, steps)
        for answer in answers:
            if isinstance(answer, HoldfastError):
                raise answer
        return answers

    def _grouped(self, chats: Iterable[str]) -> list[Sequence[tuple[str, Log]]]:
        """Return groups of chats that one call can read. In a cluster: chats of one slot."""
        is_cluster = self._messaging.caller.settings.topology == "cluster"
        by_slot: dict[int, list[tuple[str, Log]]] = {}
        for chat in chats:
            log = self._messaging.chat(chat)
            by_slot.setdefault(log.unit.slot if is_cluster else 0, []).append((chat, log))
        return [
            logs[i : i + LOGS_PER_CALL]
            for logs in by_slot.values()
            for i in range(0, len(logs), LOGS_PER_CALL)
        ]


def _is_member(reply: FetchReply) -> bool:
    return bool(reply.epoch) and reply.cursor is not None
