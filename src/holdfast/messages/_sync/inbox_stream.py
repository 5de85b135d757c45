# Generated from _async/inbox_stream.py by tools/unasync.py: edit that, then run `make sync`.
"""A stream of what comes into an inbox."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Final, Self

from ...core.checks import checked_int
from ...core.clock import Deadline, Duration, to_timeout_s
from ...core.concurrency._sync.primitives import AutoResetEvent
from ...core.names import Unit
from ...core.telemetry import during
from ..chat_list import ChatList
from ..message import Batch, Position, traces_of
from ..options import MAX_LIMIT
from .inbox_chats import InboxChats
from .messaging import Messaging
from .reader import LOOK_S

LISTING: Final = ""
"""Stands among the notified chats for the list of chats itself: no chat has this id."""


class InboxStream:
    """What comes into an inbox, read chat by chat as the server notifies this process.

    Made by `Inbox.stream`; a context manager. One task or thread uses it, in turns:

        with inbox.stream() as stream:
            while True:
                await stream.wait()
                for batch in await stream.read():
                    ...

    The first read is of all chats. So is one about every five minutes, and the one after a read
    that failed. Each other one is of the chats that were notified since the last one, and of those
    that had more than it could return. Nothing is acknowledged, and each batch comes once.
    """

    def __init__(
        self,
        user: str,
        messaging: Messaging,
        chats: InboxChats,
        after: Mapping[str, Position],
    ) -> None:
        self._user = user
        self._unit = messaging.membership.unit(user)
        self._messaging = messaging
        self._reader = chats
        self._after = dict(after)
        self._listing: ChatList | None = None
        self._notified: dict[str, None] = {}  # from any thread
        self._nudge = AutoResetEvent()
        self._reads_all_at = Deadline(0.0)
        self._followed = ExitStack()
        self._chats: dict[str, ExitStack] = {}

    def __enter__(self) -> Self:
        self._followed.enter_context(self._following(self._unit, LISTING))
        return self

    def __exit__(self, *error: object) -> None:
        for following in self._chats.values():
            following.close()
        self._chats.clear()
        self._followed.close()

    @property
    def due(self) -> int | None:
        """Return how many chats the next `read` reads by now; None: all."""
        return None if self._reads_all_at.passed else len(self._notified)

    def wait(self, timeout: Duration | None = None) -> bool:
        """Wait until there is something to read.

        Args:
            timeout: seconds (or a timedelta); None for ever.

        Returns:
            Whether there is. `read` may find nothing all the same.
        """
        deadline = Deadline(to_timeout_s(timeout))
        while self.due == 0:
            left_s = min(self._reads_all_at.left_s(), deadline.left_s())
            if not self._nudge.wait(left_s) and deadline.passed:
                return self.due != 0
        return True

    def read(self, *, limit: int = 100) -> list[Batch]:
        """Return what is new in the chats that were notified, as `Inbox.fetch` does.

        Args:
            limit: messages at most in all, 1 to 1,000; fewer come if they take more than 4 MiB.

        Raises:
            DecodeError: what is stored of a chat is damaged, and nothing is new in the others.
        """
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        settings = self._messaging.caller.settings
        with during(settings.telemetry, "receive", self._unit) as receiving:
            try:
                with self._messaging.caller.read_limiter:
                    batches = self._read(limit)
            except BaseException:
                self._reads_all_at = Deadline(0.0)
                raise
            count = sum(len(batch.messages) for batch in batches)
            receiving.received(count, traces_of(batches))
        for batch in batches:
            self._after[batch.source] = batch.position
        return batches

    def _read(self, limit: int) -> list[Batch]:
        everything = self._reads_all_at.passed
        notified = self._taken()
        seen = self._reader.seen_positions.snapshot() | self._after
        before = self._listing or ChatList(0, {})
        listing, chats = before, notified
        if everything or LISTING in notified:
            listing = self._messaging.membership.read(self._user)
            self._follow(listing)
            chats = notified | listing.changed_since(before)
        news = listing.since(before, assumed=self._after)
        if everything or news.list_is_lost:
            chats = {*listing.chats, *seen}
        found = self._reader.read(
            listing,
            [chat for chat in listing.chats if chat in chats],
            {chat: at for chat, at in seen.items() if chat in chats},
            limit,
            self._after,
            news=news,
        )
        self._listing = listing
        if everything:
            self._reads_all_at = Deadline(LOOK_S * random.uniform(0.75, 1.25))
        if found.batches:  # otherwise reading them again would not help
            self._notified.update(dict.fromkeys(found.more.union(found.damaged)))
        return found.checked()

    def _taken(self) -> set[str]:
        """Return the chats that were notified, and forget them."""
        taken = set[str]()
        while self._notified:
            taken.add(self._notified.popitem()[0])
        return taken

    def _follow(self, listing: ChatList) -> None:
        """Follow the chats of *listing*, also those that the user is about to join."""
        for chat in [each for each in self._chats if each not in listing.chats]:
            self._chats.pop(chat).close()
        for chat in listing.chats:
            if chat not in self._chats:
                following = self._chats[chat] = ExitStack()
                following.enter_context(self._following(self._messaging.chat(chat).unit, chat))

    def _following(self, unit: Unit, chat: str) -> AbstractContextManager[None]:
        return self._messaging.notifier.follow(
            [unit], _Notification(self._notified, chat, self._nudge)
        )


class _Notification:
    """The flag of one chat: remembers that it was raised, and wakes the stream."""

    def __init__(self, notified: dict[str, None], chat: str, nudge: AutoResetEvent) -> None:
        self._notified = notified
        self._chat = chat
        self._nudge = nudge

    def set(self) -> None:
        """Raise the flag. From any thread."""
        self._notified[self._chat] = None
        self._nudge.set()
