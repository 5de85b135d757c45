# Generated from _async/inbox_stream.py by tools/unasync.py: edit that, then run `make sync`.
"""A stream of the new messages of an inbox."""

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
from .reader import POLL_S

CHAT_LIST: Final = ""
"""Stands for the list of chats among the notified chats: no chat has this id."""


class InboxStream:
    """The new messages of an inbox, read only from chats with a notification from the server.

    Create it with `Inbox.stream`. It is a context manager for one task or thread, which calls
    `wait` and `read` in turns:

        with inbox.stream() as stream:
            while True:
                await stream.wait()
                for batch in await stream.read():
                    ...

    The first read is of all chats. So is one read about every five minutes, and each read after a
    failed one. All other reads are of the chats with a notification since the last read, and of
    those with more messages than the last read could return. The stream acknowledges nothing, and
    returns each message once.
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
        self._chats = chats
        self._after = dict(after)
        self._listed = ChatList(0, {})
        self._notified: dict[str, None] = {}  # from any thread
        self._wakeup = AutoResetEvent()
        self._read_all_at = Deadline(0.0)
        self._list_subscription = ExitStack()
        self._subscriptions: dict[str, ExitStack] = {}

    def __enter__(self) -> Self:
        self._list_subscription.enter_context(self._follow(self._unit, CHAT_LIST))
        return self

    def __exit__(self, *error: object) -> None:
        for subscription in self._subscriptions.values():
            subscription.close()
        self._subscriptions.clear()
        self._list_subscription.close()

    @property
    def due(self) -> int | None:
        """Return how many chats the next `read` reads; None: all chats."""
        return None if self._read_all_at.passed else len(self._notified)

    def wait(self, timeout: Duration | None = None) -> bool:
        """Wait until `read` may find messages.

        Args:
            timeout: seconds (or a timedelta); None: wait forever.

        Returns:
            Whether `read` may find messages. It can still return an empty list.
        """
        deadline = Deadline(to_timeout_s(timeout))
        while self.due == 0:
            left_s = min(self._read_all_at.left_s(), deadline.left_s())
            if not self._wakeup.wait(left_s) and deadline.passed:
                return self.due != 0
        return True

    def read(self, *, limit: int = 100) -> list[Batch]:
        """Return the new messages of the notified chats, as `Inbox.fetch` does.

        Args:
            limit: messages at most in all, 1 to 1,000. Fewer come if they take more than 4 MiB.

        Raises:
            DecodeError: a chat is damaged, and no other chat has new messages.
        """
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        caller = self._messaging.caller
        with during(caller.settings.telemetry, "receive", self._unit) as receiving:
            try:
                with caller.read_limiter:
                    batches = self._read(limit)
            except BaseException:
                self._read_all_at = Deadline(0.0)
                raise
            count = sum(len(batch.messages) for batch in batches)
            receiving.received(count, traces_of(batches))
        for batch in batches:
            self._after[batch.source] = batch.position
        return batches

    def _read(self, limit: int) -> list[Batch]:
        all_chats = self._read_all_at.passed
        notified = self._take_notified()
        seen = self._chats.seen.snapshot() | self._after
        before = listed = self._listed
        chats = notified
        if all_chats or CHAT_LIST in notified:
            listed = self._messaging.membership.read(self._user)
            self._follow_all(listed)
            chats = notified | listed.changed_since(before)
        if all_chats or listed.replaces(before):
            chats = {*listed.chats, *seen}
        found = self._chats.read(
            listed,
            [chat for chat in listed.chats if chat in chats],
            {chat: at for chat, at in seen.items() if chat in chats},
            limit,
            self._after,
            before=before,
        )
        self._listed = listed
        if all_chats:
            self._read_all_at = Deadline(POLL_S * random.uniform(0.75, 1.25))
        if found.batches:  # without any, another read would find the same
            self._notified.update(dict.fromkeys(found.more.union(found.damaged)))
        return found.checked()

    def _take_notified(self) -> set[str]:
        """Return the chats with a notification, and clear them."""
        taken = set[str]()
        while self._notified:
            taken.add(self._notified.popitem()[0])
        return taken

    def _follow_all(self, listed: ChatList) -> None:
        """Subscribe to the chats of *listed*, also those that the user is about to join."""
        for chat in [each for each in self._subscriptions if each not in listed.chats]:
            self._subscriptions.pop(chat).close()
        for chat in listed.chats:
            if chat not in self._subscriptions:
                subscription = self._subscriptions[chat] = ExitStack()
                subscription.enter_context(self._follow(self._messaging.chat(chat).unit, chat))

    def _follow(self, unit: Unit, chat: str) -> AbstractContextManager[None]:
        event = _ChatEvent(self._notified, chat, self._wakeup)
        return self._messaging.notifier.follow([unit], event)


class _ChatEvent:
    """The event of one chat: it records the chat and wakes the stream."""

    def __init__(self, notified: dict[str, None], chat: str, wakeup: AutoResetEvent) -> None:
        self._notified = notified
        self._chat = chat
        self._wakeup = wakeup

    def set(self) -> None:
        """Record the chat and wake the stream. Any thread may call it."""
        self._notified[self._chat] = None
        self._wakeup.set()
