# Generated from _async.py by tools/unasync.py: edit that one, then `make sync`.
"""All chats of one user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...core.call._sync import Step
from ...core.clock import Duration
from ...core.names import Unit
from ...errors import HoldfastError
from .._sync import FETCH
from ..index._sync import FRESH_MS
from ..index.listing import Listing, News
from ..log._sync import REPLY_BYTES, Log
from ..memory import reset, said
from ..message import Batch, Gap, Position, Row, batch_of
from ..post._sync import Post
from ..reader._sync import Reader
from ..sharing import LOGS_PER_CALL, in_order, share
from ..terms import checked_name, checked_positions


class Inbox(Reader):
    """The inbox of a user: what is new in all its chats.

    Made by `Holdfast.inbox`. One object serves all tasks and threads. It remembers what it
    has handed out, so that it notices when the server loses that. It looks at the 1,000 chats that
    the user joined last.
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

        Changes nothing: `ack` each batch when it is done.

        Args:
            limit: messages at most in all, 1 to 1,000; fewer come if they take more than 4 MiB.
            timeout: seconds to wait for the first one (or a timedelta); 0 not at all, None for
                ever.
            after: chat → position of the last batch that this device has of it: what comes next is
                read from there on, not from what the user has acknowledged, perhaps on another
                device. Other chats are read as usual.

        Returns:
            A batch for each chat with news; empty if there is none.
        """
        return self._news(limit, timeout, checked_positions(after or {}))

    def ack(self, batch: Batch) -> None:
        """Be done with all messages of a batch, and all before them in its chat.

        Acknowledging twice, or late, changes nothing: it never goes back.

        Raises:
            StaleBatch: the server lost the chat meanwhile; fetch again.
            NotAMember: the user has left the chat.
            NoSuchChat: there is none.
            NoSuchMessage: the server lost the newest messages; fetch again.
        """
        if not isinstance(batch, Batch):
            raise TypeError(f"ack takes a Batch, as fetched, not {type(batch).__name__}")
        if not batch.upto:
            return
        self._post.chat(batch.source).ack(self.user, batch.epoch, batch.upto)
        self._memory.note(batch.source, batch.epoch, batch.upto)
        self._post.index.keep(self.user)

    def unread(self) -> dict[str, int]:
        """How many messages are not acknowledged, for each chat of the user."""
        rows, _ = self._standing()
        return {chat: row.unread for chat, row in rows.items()}

    def chats(self) -> list[str]:
        """The ids of the chats of the user, the one joined last first."""
        rows, _ = self._standing()
        return list(rows)

    def _standing(self) -> tuple[dict[str, Row], Listing]:
        """Where the user stands in the chats of which it is a member."""
        listing = self._post.index.read(self.user)
        rows = self._rows(listing.chats, 0, {})
        return {chat: row for chat, row in rows.items() if row.cursor is not None}, listing

    def _look(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        seen, before = self._memory.snapshot() | dict(after), self._listing
        listing = self._post.index.read(self.user)
        rows = self._rows(listing.chats, limit, after)
        gone = list(self._gone(rows, seen, listing.since(before, assumed=after)))
        self._listing = listing
        self._repair(listing, rows)
        mine = {chat: row for chat, row in rows.items() if row.epoch and row.cursor is not None}
        ordered = in_order(mine)
        oldest = next((chat for chat in ordered if mine[chat].oldest_ms is not None), None)
        if oldest is not None and not mine[oldest].entries:  # it did not fit with the others
            mine |= self._rows([oldest], limit, after)
        batches = [*gone, *self._batches(mine, ordered, seen, limit)]
        self._shown(batches)
        # Also those that the user is about to join: whoever takes it in may die before it says so.
        units = frozenset([self._unit, *(self._post.chat(chat).unit for chat in rows)])
        return batches, units

    def _batches(
        self, rows: dict[str, Row], ordered: Iterable[str], seen: dict[str, Position], limit: int
    ) -> Iterator[Batch]:
        """What is new, until *limit* is used up."""
        for chat in ordered:
            row = rows[chat]
            lost = reset(row, seen.get(chat))
            if lost:
                self._memory.cut(chat, row)
            else:
                self._memory.note(chat, row.epoch, 0)
                if row.is_read:
                    continue
            batch = batch_of(chat, row.first(limit), lost)
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
        self, chats: Iterable[str], limit: int, after: Mapping[str, Position]
    ) -> dict[str, Row]:
        """Where the user stands in *chats*, and what comes next there."""
        groups = self._grouped(chats)
        messages, size = share(limit, REPLY_BYTES, len(groups))
        steps: list[Step] = []
        for group in groups:
            names = [name for _, log in group for name in log.read_keys]
            has = [part for chat, _ in group for part in said(after.get(chat))]
            steps.append((group[0][1].unit, names, [self.user, messages, size, len(group), *has]))
        rows: dict[str, Row] = {}
        answers = self._post.caller.call_many(FETCH, steps)
        for group, answer in zip(groups, answers, strict=True):
            if isinstance(answer, HoldfastError):
                raise answer
            rows |= {chat: Row.of(reply) for (chat, _), reply in zip(group, answer, strict=True)}
        return rows

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
