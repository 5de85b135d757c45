"""Reads several chats of one user at once."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ...core._async.caller import Step
from ...errors import DecodeError, HoldfastError
from ..chat_list import ChatList, ListChanges
from ..fetch_quota import LOGS_PER_CALL, in_order, share
from ..message import Batch, FetchReply, Gap, InboxResult, Position, batch_of
from ..seen_positions import SeenPositions, position_text, reset
from .log import FETCH, REPLY_BYTES, AsyncLog
from .membership import FRESH_MS
from .messaging import AsyncMessaging


class AsyncInboxChats:
    """Reads what is new in chats of one user.

    Args:
        post: the way to the server.
        user: whose chats.
        memory: what was seen.
    """

    def __init__(self, messaging: AsyncMessaging, user: str, seen_positions: SeenPositions) -> None:
        self.seen_positions = seen_positions
        self._messaging = messaging
        self._user = user

    async def read(
        self,
        listing: ChatList,
        chats: Iterable[str],
        seen: dict[str, Position],
        limit: int,
        after: Mapping[str, Position],
        *,
        news: ListChanges,
    ) -> InboxResult:
        """Return what is new in some chats.

        Args:
            listing: the chats of the user.
            chats: those of the listing to read.
            seen: what was seen, of these chats and of those that have left the listing.
            limit: messages at most.
            after: what the device has.
            news: what has become of an earlier listing.
        """
        own, others = list[str](), list[str]()
        for chat in chats:
            (own if listing.is_own(chat) else others).append(chat)
        groups = self.grouped(own) + self.grouped(others)
        rows, damaged = await self._rows(groups, limit, seen, after)
        known = {chat: at for chat, at in seen.items() if chat not in damaged}
        gone = list(self._gone(rows, known, news))
        await self._repair(listing, rows)
        mine = {chat: row for chat, row in rows.items() if row.epoch and row.cursor is not None}
        ordered = in_order(mine, listing)
        oldest = next((chat for chat in ordered if mine[chat].oldest_ms is not None), None)
        if oldest is not None and not mine[oldest].entries:  # it did not fit with the others
            mine |= (await self._rows(self.grouped([oldest]), limit, seen, after))[0]
        batches = [*gone, *self._batches(mine, ordered, seen, limit, after)]
        for batch in batches:
            self.seen_positions.note(batch.source, batch.position)
        upto = {batch.source: batch.upto for batch in batches}
        unread = {chat for chat, row in mine.items() if row.waits or row.entries}
        more = {chat for chat in unread if mine[chat].top > upto.get(chat, 0)}
        return InboxResult(batches, more, damaged)

    def _batches(
        self,
        rows: dict[str, FetchReply],
        ordered: Iterable[str],
        seen: dict[str, Position],
        limit: int,
        after: Container[str],
    ) -> Iterator[Batch]:
        """What is new, until *limit* is used up."""
        for chat in ordered:
            row = rows[chat].first(limit)
            if row.waits:
                continue
            lost = reset(row, seen.get(chat), own=chat in after)
            if lost:
                self.seen_positions.cut(chat, row)
            else:
                self.seen_positions.note(chat, Position(row.epoch, 0))
                if row.is_read:
                    continue
            batch = batch_of(chat, row, lost)
            limit -= len(batch.messages)
            if batch:
                yield batch

    def _gone(
        self, rows: dict[str, FetchReply], seen: dict[str, Position], news: ListChanges
    ) -> Iterator[Batch]:
        """Chats that were seen and are lost. Those that were left are just forgotten."""
        for chat, position in seen.items():
            row = rows.get(chat)
            if row is not None and row.cursor is not None:
                continue
            self.seen_positions.forget(chat)
            if not position.epoch:
                continue
            # A chat that is still on the list was not left. One that is on it anew was: somebody
            # was about to join it again, when it was no more.
            if news.list_is_lost if row is None else not row.epoch and chat in news.unchanged:
                yield Batch(chat, (), Gap(1, position.seq, "reset"), 0, 0)

    async def _repair(self, listing: ChatList, rows: dict[str, FetchReply]) -> None:
        """Take off the list what is not the user's, unless somebody may be about to join."""
        strange = {chat: listing.chats[chat] for chat, row in rows.items() if row.cursor is None}
        if strange:
            await self._messaging.membership.remove(self._user, strange, age_ms=FRESH_MS)

    async def _rows(
        self,
        groups: list[Sequence[tuple[str, AsyncLog]]],
        limit: int,
        seen: Mapping[str, Position],
        after: Container[str],
    ) -> tuple[dict[str, FetchReply], dict[str, DecodeError]]:
        """Where the user stands in these chats, and what comes next there; and what is damaged."""
        messages, size = share(limit, REPLY_BYTES, len(groups))
        steps: list[Step] = []
        for group in groups:
            names = [name for _, log in group for name in log.fetch_keys]
            has = [position_text(seen.get(chat), own=chat in after) for chat, _ in group]
            steps.append((group[0][1].unit, names, [self._user, messages, size, len(group), *has]))
        rows: dict[str, FetchReply] = {}
        damaged: dict[str, DecodeError] = {}
        answers = await self._messaging.caller.call_many(FETCH, steps)
        for group, answer in zip(groups, answers, strict=True):
            if isinstance(answer, HoldfastError):
                raise answer
            for (chat, log), reply in zip(group, answer, strict=True):
                try:
                    rows[chat] = FetchReply.of(log.unit, reply)
                except DecodeError as error:
                    damaged[chat] = error
        return rows, damaged

    def grouped(self, chats: Iterable[str]) -> list[Sequence[tuple[str, AsyncLog]]]:
        """Chats that one call may ask for: of one slot, where there are slots."""
        in_slots = self._messaging.caller.settings.topology == "cluster"
        by_slot: dict[int, list[tuple[str, AsyncLog]]] = {}
        for chat in chats:
            log = self._messaging.chat(chat)
            by_slot.setdefault(log.unit.slot if in_slots else 0, []).append((chat, log))
        return [
            logs[i : i + LOGS_PER_CALL]
            for logs in by_slot.values()
            for i in range(0, len(logs), LOGS_PER_CALL)
        ]
