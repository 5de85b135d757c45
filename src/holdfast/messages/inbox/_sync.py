# Generated from _async.py by tools/unasync.py: edit that one, then `make sync`.
"""All chats of one user."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from ...core.call._sync import Step
from ...core.clock import Duration
from ...core.names import Unit
from ...errors import DecodeError, HoldfastError
from ..index._sync import FRESH_MS
from ..index.listing import Listing, News
from ..log._sync import FETCH, REPLY_BYTES, UNREAD, Log
from ..memory import batch_position, position_text, reset
from ..message import Batch, Gap, Position, Row, batch_of
from ..post._sync import Post
from ..reader._sync import Reader
from ..sharing import LOGS_PER_CALL, in_order, share
from ..states import Unread
from ..terms import checked_name, checked_positions


class Inbox(Reader):
    """The inbox of a user: what is new in all its chats.

    Made by `Holdfast.inbox`. One object serves all tasks and threads. It remembers what it
    has handed out, so that it notices when the server loses that.

    It looks at 1,000 chats of the user's own: those that the user created, joined by itself, wrote
    in or acknowledged something in, the latest noted first. Chats to which others added the user
    have as much room as is left of these 1,000, and at least 100 places; beyond that, the oldest
    chat of the member who added the user to the most chats is taken off the list.
    """

    def __init__(self, post: Post, user: str) -> None:
        self.user = checked_name(user, "a user")
        super().__init__(post, post.index.unit(user))
        self._listing = Listing(0, {})

    def __repr__(self) -> str:
        return f"Inbox({self.user!r})"

    def fetch(
        self,
        *,
        limit: int = 100,
        timeout: Duration | None = 0.0,
        after: Mapping[str, Position] | None = None,
    ) -> list[Batch]:
        """What is not acknowledged, by chat: the one whose oldest unread message is oldest first.

        Chats in which the user has neither sent nor acknowledged anything come after the others.

        Changes nothing: `ack` each batch when it is done.

        Args:
            limit: messages at most in all, 1 to 1,000; fewer come if they take more than 4 MiB.
            timeout: seconds to wait for the first one (or a timedelta); 0 not at all, None for
                ever.
            after: chat → position of the last batch that this device has of it: what comes next is
                read from there on, not from what the user has acknowledged, perhaps on another
                device. If the server has lost what the device has, a `Gap` with the reason `reset`
                says so, and all messages that the user may read come again. Other chats are read
                as usual.

        Returns:
            A batch for each chat with news; empty if there is none.

        Raises:
            DecodeError: what is stored of a chat is damaged, and nothing is new in the others.
        """
        return self._news(limit, timeout, checked_positions(after or {}))

    def ack(self, batch: Batch) -> None:
        """Be done with all messages of a batch, and all before them in its chat.

        Acknowledging twice, or late, changes nothing: it never goes back.

        Raises:
            StaleBatch: the server lost the chat, or what the batch ends with, and has given the
                number to another message; fetch again.
            NotAMember: the user has left the chat.
            NoSuchChat: there is none.
            NoSuchMessage: the server lost the newest messages; fetch again.
        """
        if not isinstance(batch, Batch):
            raise TypeError(f"ack takes a Batch, as fetched, not {type(batch).__name__}")
        if not batch.upto:
            return
        log = self._post.chat(batch.source)
        log.ack(self.user, batch_position(batch), batch.position)
        self._memory.note(batch.source, batch.position)
        self._post.index.acts(self.user, batch.source)

    def unread(self) -> dict[str, int]:
        """How many messages are not acknowledged, for each chat of the user, ordered as by `chats`.

        Raises:
            DecodeError: what is stored of a chat is damaged.
        """
        return {chat: known.messages for chat, known in self._standing()}

    def chats(self) -> list[str]:
        """The ids of the chats of the user, the one with the newest message first.

        Raises:
            DecodeError: what is stored of a chat is damaged.
        """
        return [chat for chat, _ in self._standing()]

    def size(self) -> int:
        """Return how many chats the other methods look at: what they cost the server."""
        return self._post.index.size(self.user)

    def _standing(self) -> list[tuple[str, Unread]]:
        """Return the chats of which the user is a member, the one with the newest message first."""
        listing = self._post.index.read(self.user)
        groups = self._grouped(listing.chats)
        steps: list[Step] = []
        for group in groups:
            names = [name for _, log in group for name in log.unread_keys]
            steps.append((group[0][1].unit, names, [self.user, len(group)]))
        found: list[tuple[str, Unread]] = []
        answers = self._post.caller.call_many(UNREAD, steps)
        for group, answer in zip(groups, answers, strict=True):
            if isinstance(answer, HoldfastError):
                raise answer
            for (chat, _), *known in zip(group, answer[::2], answer[1::2], strict=True):
                if known[0]:
                    found.append((chat, Unread.of(*known)))
        noted = {chat: number for number, chat in enumerate(listing.chats)}
        return sorted(found, key=lambda each: (-each[1].newest_ms, noted[each[0]]))

    def _look(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        seen, before = self._memory.snapshot() | dict(after), self._listing
        listing = self._post.index.read(self.user)
        groups = self._grouped(filter(listing.is_own, listing.chats))
        groups += self._grouped(itertools.filterfalse(listing.is_own, listing.chats))
        rows, damaged = self._rows(groups, limit, seen, after)
        known = {chat: at for chat, at in seen.items() if chat not in damaged}
        gone = list(self._gone(rows, known, listing.since(before, assumed=after)))
        self._listing = listing
        self._repair(listing, rows)
        mine = {chat: row for chat, row in rows.items() if row.epoch and row.cursor is not None}
        ordered = in_order(mine, listing)
        oldest = next((chat for chat in ordered if mine[chat].oldest_ms is not None), None)
        if oldest is not None and not mine[oldest].entries:  # it did not fit with the others
            mine |= (self._rows(self._grouped([oldest]), limit, seen, after))[0]
        batches = [*gone, *self._batches(mine, ordered, seen, limit, after)]
        if damaged and not batches:
            raise next(iter(damaged.values()))
        self._shown(batches)
        # Also those that the user is about to join: whoever takes it in may die before it says so.
        units = frozenset([self._unit, *(self._post.chat(chat).unit for chat in listing.chats)])
        return batches, units

    def _batches(
        self,
        rows: dict[str, Row],
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
                self._memory.cut(chat, row)
            else:
                self._memory.note(chat, Position(row.epoch, 0))
                if row.is_read:
                    continue
            batch = batch_of(chat, row, lost)
            limit -= len(batch.messages)
            if batch:
                yield batch

    def _gone(self, rows: dict[str, Row], seen: dict[str, Position], news: News) -> Iterator[Batch]:
        """Chats that were seen and are lost. Those that were left are just forgotten."""
        for chat, position in seen.items():
            row = rows.get(chat)
            if row is not None and row.cursor is not None:
                continue
            self._memory.forget(chat)
            if not position.epoch:
                continue
            # A chat that is still on the list was not left. One that is on it anew was: somebody
            # was about to join it again, when it was no more.
            if news.list_is_lost if row is None else not row.epoch and chat in news.unchanged:
                yield Batch(chat, (), Gap(1, position.seq, "reset"), 0, 0)

    def _repair(self, listing: Listing, rows: dict[str, Row]) -> None:
        """Take off the list what is not the user's, unless somebody may be about to join."""
        strange = {chat: listing.chats[chat] for chat, row in rows.items() if row.cursor is None}
        if strange:
            self._post.index.strike(self.user, strange, age_ms=FRESH_MS)

    def _rows(
        self,
        groups: list[Sequence[tuple[str, Log]]],
        limit: int,
        seen: Mapping[str, Position],
        after: Container[str],
    ) -> tuple[dict[str, Row], dict[str, DecodeError]]:
        """Where the user stands in these chats, and what comes next there; and what is damaged."""
        messages, size = share(limit, REPLY_BYTES, len(groups))
        steps: list[Step] = []
        for group in groups:
            names = [name for _, log in group for name in log.fetch_keys]
            has = [position_text(seen.get(chat), own=chat in after) for chat, _ in group]
            steps.append((group[0][1].unit, names, [self.user, messages, size, len(group), *has]))
        rows: dict[str, Row] = {}
        damaged: dict[str, DecodeError] = {}
        answers = self._post.caller.call_many(FETCH, steps)
        for group, answer in zip(groups, answers, strict=True):
            if isinstance(answer, HoldfastError):
                raise answer
            for (chat, log), reply in zip(group, answer, strict=True):
                try:
                    rows[chat] = Row.of(log.unit, reply)
                except DecodeError as error:
                    damaged[chat] = error
        return rows, damaged

    def _grouped(self, chats: Iterable[str]) -> list[Sequence[tuple[str, Log]]]:
        """Chats that one call may ask for: of one slot, where there are slots."""
        in_slots = self._post.caller.settings.topology == "cluster"
        by_slot: dict[int, list[tuple[str, Log]]] = {}
        for chat in chats:
            log = self._post.chat(chat)
            by_slot.setdefault(log.unit.slot if in_slots else 0, []).append((chat, log))
        return [
            logs[i : i + LOGS_PER_CALL]
            for logs in by_slot.values()
            for i in range(0, len(logs), LOGS_PER_CALL)
        ]
