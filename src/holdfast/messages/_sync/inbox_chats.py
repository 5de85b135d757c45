# Generated from _async/inbox_chats.py by tools/unasync.py: edit that, then run `make sync`.
"""Read several chats of one user in few calls."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ...core._sync.caller import Argument, Step
from ...core._sync.prepared_call import PreparedRead
from ...core.clock import Deadline
from ...core.gap import Gap
from ...core.script import Script
from ...errors import DecodeError, HoldfastError
from ..chat_list import NO_CHATS, ChatList
from ..chat_state import STATES_S, ChatState
from ..fetch_quota import LOGS_PER_CALL, in_order, quota
from ..message import Batch, FetchReply, InboxResult, Position, batch_of, reported
from ..seen_positions import SeenPositions, batch_position, lost_since, position_text
from ..states import Unread
from .log import ACK, FETCH, REPLY_BYTES, UNREAD, Log
from .membership import JOINING_MS
from .messaging import Messaging

Item = TypeVar("Item")


class _FetchGroup(NamedTuple):
    """A group of chats that one call of `fetch.lua` reads.

    Attributes:
        chats: ids of the chats; the user's own come first.
        logs: their logs.
        keys: the keys of the call.
        own: number of the user's own chats.
    """

    chats: Sequence[str]
    logs: Sequence[Log]
    keys: Sequence[str | bytes]
    own: int


class _IdleRead(NamedTuple):
    """A read of all chats that found nothing new. The next read with the same arguments repeats it.

    Attributes:
        listed: the list of the user's chats.
        seen: the positions in the calls.
        limit: maximum number of messages.
        commands: the commands that read the list and then the chats. None: they are packed only
            when they are sent again, because most of many waiting readers do not read again soon.
    """

    listed: ChatList
    seen: Mapping[str, Position]
    limit: int
    commands: PreparedRead | None = None


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
        self._states: dict[str, ChatState] = {}
        self._states_end = Deadline(STATES_S)
        self._idle: _IdleRead | None = None
        self._groups: tuple[ChatList, Sequence[_FetchGroup]] = NO_CHATS, ()

    def read(
        self,
        listed: ChatList,
        chats: Iterable[str],
        seen: Mapping[str, Position],
        limit: int,
        after: Mapping[str, Position],
        *,
        before: ChatList,
        answers: Sequence[Any] = (),
    ) -> InboxResult:
        """Return the new messages of some chats.

        Args:
            listed: the current list of the user's chats.
            chats: the chats of this list to read, in its order: the user's own come first.
            seen: chat → position up to which messages were returned, or that the device gave; also
                of chats that are no longer in the list.
            limit: maximum number of messages.
            after: chat → position that the device gave.
            before: the list of the user's chats at the previous read.
            answers: what `read_again` returned for these chats, this limit and these positions.
        """
        replies, damaged, same = self._fetch(chats, listed, limit, seen, after, answers)
        asked = {chat: at for chat, at in seen.items() if chat not in same and chat not in damaged}
        if not (replies or damaged or asked):
            return InboxResult([], set(), {})
        gone = list(self._gone(replies, asked, listed, before, after)) if asked else []
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

    def read_again(
        self, listed: ChatList, seen: Mapping[str, Position], limit: int
    ) -> Sequence[Any]:
        """Read the list of the user's chats and all chats in one round trip, if the last read had
        the same arguments and found nothing new.

        Args:
            listed: the list at the previous read.
            seen: as in `read`.
            limit: as in `read`.

        Returns:
            The reply with the list, and then the answers for `read`, which are valid if the list is
            the same as *listed*. Empty if the last read had other arguments or found something new.
        """
        idle = self._idle
        if idle is None or self._states_end.passed:
            return ()
        if idle.listed is not listed or idle.seen is not seen or idle.limit != limit:
            self._idle = None
            return ()
        commands = idle.commands
        if commands is None:
            commands = self._commands(listed, seen, limit)
            self._idle = idle._replace(commands=commands)
        return commands.attempt() or ()

    def _batches(
        self,
        replies: dict[str, FetchReply],
        ordered: Iterable[str],
        seen: Mapping[str, Position],
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
                    position = Position(reply.epoch, 0)
                    self.seen.note(chat, position)
                if reply.is_read:
                    if reply.state and chat not in after:
                        self._states[chat] = ChatState.of(position, reply.state)
                    continue
            batch = batch_of(chat, reply, lost)
            limit -= len(batch.messages)
            if batch:
                yield batch

    def _gone(
        self,
        replies: dict[str, FetchReply],
        seen: dict[str, Position],
        listed: ChatList,
        before: ChatList,
        after: Container[str],
    ) -> Iterator[Batch]:
        """Forget the positions of chats that the user has left.

        Yield a batch with a gap for each such chat that the server has lost.
        """
        left = {chat: at for chat, at in seen.items() if not _is_reader(replies.get(chat))}
        list_is_lost = listed.replaces(before)
        unchanged = listed.unchanged_since(before) if left else set[str]()
        for chat, position in left.items():
            reply = replies.get(chat)
            self.seen.forget(chat)
            self._states.pop(chat, None)
            # A user who leaves a chat also removes it from the list, so a chat that is still in the
            # list was lost. But if the chat was added to the list again, it is not lost: another
            # user is about to create it.
            is_listed = chat in unchanged or chat in after
            chat_is_lost = reply is not None and not reply.epoch and is_listed
            if position.epoch and (list_is_lost if reply is None else chat_is_lost):
                yield Batch(chat, (), Gap(1, position.seq, "reset"), 0, 0)

    def _repair(self, listed: ChatList, replies: dict[str, FetchReply]) -> None:
        """Remove chats that do not have this user as a member from the list of the user.

        Chats that were added a short time ago stay, because the user may be about to join.
        """
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
        answers: Sequence[Any] = (),
    ) -> tuple[dict[str, FetchReply], dict[str, DecodeError], set[str]]:
        """Return chat → reply; for damaged chats, chat → error; and the chats that are in the same
        state as before, without new messages."""
        groups = self._fetch_groups(chats, listed)
        if not answers:
            if self._states_end.passed:
                self._states.clear()
                self._states_end = Deadline(STATES_S)
            answers = self._call(FETCH, self._fetch_steps(groups, limit, seen, after))
        replies: dict[str, FetchReply] = {}
        damaged: dict[str, DecodeError] = {}
        same = set[str]()
        for group, answer in zip(groups, answers, strict=True):
            same.update(group.chats)
            for number, header, entries in reported(answer):
                chat = group.chats[number - 1]
                same.discard(chat)
                try:
                    replies[chat] = FetchReply.of(group.logs[number - 1].unit, header, entries)
                except DecodeError as error:
                    damaged[chat] = error
        is_whole = chats is listed.chats and groups and not (after or listed.skipped)
        if is_whole and not (replies or damaged or self._messaging.is_cluster):
            self._idle = self._idle or _IdleRead(listed, seen, limit)
        return replies, damaged, same

    def _fetch_steps(
        self,
        groups: Sequence[_FetchGroup],
        limit: int,
        seen: Mapping[str, Position],
        after: Container[str],
    ) -> list[Step]:
        """Return the calls of `fetch.lua` for *groups*."""
        messages, size = quota(limit, REPLY_BYTES, len(groups))
        steps: list[Step] = []
        for group in groups:
            known, total = list[Argument](), 0
            for chat in group.chats:
                position, state = seen.get(chat), self._states.get(chat)
                if state is None or state.position is not position or chat in after:
                    known += (position_text(position, own=chat in after), "")
                else:
                    known += (state.text, state.newest)
                    total += state.number
            args: list[Argument] = [self._user, messages, size, group.own, 1, total, *known]
            steps.append((group.logs[0].unit, group.keys, args))
        return steps

    def _commands(self, listed: ChatList, seen: Mapping[str, Position], limit: int) -> PreparedRead:
        """Return the commands that read the list of the user's chats and then all chats."""
        membership, caller = self._messaging.membership, self._messaging.caller
        steps = self._fetch_steps(self._fetch_groups(listed.chats, listed), limit, seen, ())
        calls = [("EVALSHA", FETCH.sha1, len(keys), *keys, *args) for _, keys, args in steps]
        unit, command = membership.unit(self._user), membership.list_command(self._user)
        return PreparedRead(caller, unit, command, *calls)

    def _fetch_groups(self, chats: Iterable[str], listed: ChatList) -> Sequence[_FetchGroup]:
        """Return groups of *chats* for one call each; from the cache, if these are all chats of the
        same list as before."""
        if chats is listed.chats and self._groups[0] is listed:
            return self._groups[1]
        groups = []
        for group in self._grouped(chats):
            names = [name for _, log in group for name in log.fetch_keys]
            own = sum(listed.is_own(chat) for chat, _ in group)
            ids, logs = zip(*group, strict=True)
            groups.append(_FetchGroup(ids, logs, names, own))
        if chats is listed.chats:
            self._groups = listed, groups
        return groups

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

    def ack(self, batches: Sequence[Batch]) -> dict[int, HoldfastError]:
        """Acknowledge all messages of *batches*.

        Returns:
            The errors of the batches that are not acknowledged, by the number of the batch.
        """
        groups = self._grouped_by_slot(
            [(number, self._messaging.chat(batch.source)) for number, batch in enumerate(batches)]
        )
        steps: list[Step] = []
        for group in groups:
            names = [name for _, log in group for name in log.ack_keys]
            args: list[Argument] = [self._user]
            for number, _ in group:
                args += (batch_position(batches[number]), batches[number].upto)
            steps.append((group[0][1].unit, names, args))
        answers = self._messaging.caller.call_many(ACK, steps, harmless=True)
        errors: dict[int, HoldfastError] = {}
        for group, answer in zip(groups, answers, strict=True):
            is_error = isinstance(answer, HoldfastError)
            replies = [answer] * len(group) if is_error else answer
            for (number, log), reply in zip(group, replies, strict=True):
                try:
                    self._check_ack(log, reply, batches[number])
                except HoldfastError as error:
                    errors[number] = error
        return errors

    def _check_ack(self, log: Log, reply: Any, batch: Batch) -> None:
        """Raise the error in a *reply* of `ack.lua`, or *reply* itself if it is an error."""
        if isinstance(reply, HoldfastError):
            raise reply
        read = batch_position(batch)
        if reply[0] == b"failed":
            log.ack(self._user, read, batch.position)
        else:
            log.check_ack(reply, self._user, read, batch.position)

    def _call(self, script: Script, steps: Sequence[Step]) -> list[Any]:
        """Run *script* once for each of *steps* and return the replies; raise the first error."""
        answers = self._messaging.caller.call_many(script, steps)
        for answer in answers:
            if isinstance(answer, HoldfastError):
                raise answer
        return answers

    def _grouped(self, chats: Iterable[str]) -> list[Sequence[tuple[str, Log]]]:
        """Divide *chats* into groups that one call can read."""
        return self._grouped_by_slot([(chat, self._messaging.chat(chat)) for chat in chats])

    def _grouped_by_slot(
        self, logs: Iterable[tuple[Item, Log]]
    ) -> list[Sequence[tuple[Item, Log]]]:
        """Divide *logs*, each with an item, into groups for one call each. In a cluster, a call can
        only use chats in one slot."""
        is_cluster = self._messaging.is_cluster
        by_slot: dict[int, list[tuple[Item, Log]]] = {}
        for each in logs:
            by_slot.setdefault(each[1].unit.slot if is_cluster else 0, []).append(each)
        return [
            group[i : i + LOGS_PER_CALL]
            for group in by_slot.values()
            for i in range(0, len(group), LOGS_PER_CALL)
        ]


def _is_member(reply: FetchReply) -> bool:
    return bool(reply.epoch) and reply.cursor is not None


def _is_reader(reply: FetchReply | None) -> bool:
    return reply is not None and reply.cursor is not None
