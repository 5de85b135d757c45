# Generated from _async/inbox_chats.py by tools/unasync.py: edit that, then run `make sync`.
"""Read several chats of one user in few calls."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...core._sync.caller import Step
from ...core.gap import Gap
from ...core.script import Script
from ...errors import DecodeError, HoldfastError
from ..chat_list import ChatList
from ..fetch_quota import LOGS_PER_CALL, in_order, quota
from ..message import Batch, FetchReply, InboxResult, Position, batch_of
from ..seen_positions import SeenPositions, lost_since, position_text
from ..states import Unread
from .log import FETCH, REPLY_BYTES, UNREAD, Log
from .membership import JOINING_MS
from .messaging import Messaging


class InboxChats:
    """Read the new messages of several chats of one user.

    Args:
        messaging: calls the server.
        user: the user.
        seen: positions up to which messages were returned to the user.
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
            listed: the current list of the user's chats.
            chats: the chats of this list to read, in its order: the user's own come first.
            seen: chat → last position, also of chats that are no longer in the list.
            limit: maximum number of messages.
            after: chat → position that the device gave.
            before: the list of the user's chats at the previous read.
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
        if oldest is not None and not mine[oldest].entries:
            # The reply had no room for the oldest message: fetch this chat alone.
            mine |= (self._fetch([oldest], listed, limit, seen, after))[0]
        batches = [*gone, *self._batches(mine, ordered, seen, limit, after)]
        for batch in batches:
            self.seen.note(batch.source, batch.position)
        upto = {batch.source: batch.upto for batch in batches}
        unread = {chat for chat, reply in mine.items() if reply.entries or reply.is_cut}
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
        """Yield a batch for each chat with new messages, with at most *limit* messages in all."""
        for chat in ordered:
            reply, position = replies[chat].first(limit), seen.get(chat)
            if reply.is_cut:
                continue
            lost = lost_since(reply, position, own=chat in after)
            if lost:
                self.seen.reset(chat, reply)
            else:
                if position is None or position.epoch != reply.epoch:
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
        """Forget the positions of chats that the user has left.

        Yield a batch with a gap for each such chat that the server has lost.
        """
        for chat, position in seen.items():
            reply = replies.get(chat)
            if reply is not None and reply.cursor is not None:
                continue
            self.seen.forget(chat)
            # A user who leaves a chat also removes it from the list, so a chat that is still in the
            # list was lost. But if the chat was added to the list again, it is not lost: another
            # user is about to create it.
            chat_is_lost = reply is not None and not reply.epoch and chat in unchanged
            if position.epoch and (list_is_lost if reply is None else chat_is_lost):
                yield Batch(chat, (), Gap(1, position.seq, "reset"), 0, 0)

    def _repair(self, listed: ChatList, replies: dict[str, FetchReply]) -> None:
        """Remove chats without this user from the list, unless they were added a short time ago:
        then the user may be about to join."""
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
        """Return chat → reply, and for damaged chats, chat → error."""
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
        """Return the number of unread messages of each chat that has the user as a member.

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
        """Run *script* once for each of *steps* and return the replies; raise the first error."""
        answers = self._messaging.caller.call_many(script, steps)
        for answer in answers:
            if isinstance(answer, HoldfastError):
                raise answer
        return answers

    def _grouped(self, chats: Iterable[str]) -> list[Sequence[tuple[str, Log]]]:
        """Divide *chats* into groups that one call can read. In a cluster, a call can read only
        chats in one slot."""
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
