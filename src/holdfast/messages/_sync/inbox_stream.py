# Generated from _async/inbox_stream.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the public class of inbox streams."""

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
from ..chat_list import NO_CHATS, ChatList
from ..inbox_values import InboxBatches
from ..message import Batch, Position, traces_of
from ..options import MAX_LIMIT
from .inbox_chats import InboxChats
from .messaging import Messaging
from .reader import POLL_S

CHAT_LIST: Final = ""
"""Key in the set of notified chats that stands for the list of chats; no chat has this id."""


class InboxStream:
    """Read the new messages of an inbox, only from chats for which the server sent a notification.

    Create the object with `Inbox.stream`. One task or thread uses it in a `with` block, and
    calls `wait` and `read` alternately:

        with inbox.stream() as stream:
            while True:
                await stream.wait()
                for batch in await stream.read():
                    ...

    The stream returns each message once, and acknowledges none. A read reads:

    - all chats, if it is the first one, follows a failed one, or five minutes (about) have passed;
    - otherwise the chats with a notification since the last read, and the chats that had more
      messages than the last read could return.
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
        self._listed = NO_CHATS
        self._notified: dict[str, None] = {}  # any thread may add chats
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
            True if `read` may find messages; it can still return an empty list.
        """
        deadline = Deadline(to_timeout_s(timeout))
        while self.due == 0:
            left_s = min(self._read_all_at.left_s(), deadline.left_s())
            if not self._wakeup.wait(left_s) and deadline.passed:
                return self.due != 0
        return True

    def read(self, *, limit: int = 100) -> InboxBatches:
        """Return the new messages of the chats to read, as `Inbox.fetch` does.

        Args:
            limit: maximum number of messages in all batches, 1 to 1,000. There are fewer if they
                take more than 4 MiB.

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
        return InboxBatches(batches, self._listed.skipped)

    def _read(self, limit: int) -> list[Batch]:
        all_chats = self._read_all_at.passed
        notified = self._take_notified()
        seen = {**self._chats.seen.snapshot(), **self._after}
        before = listed = self._listed
        chats = notified
        if all_chats or CHAT_LIST in notified:
            listed = self._messaging.membership.read(self._user, before)
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
        if found.batches:  # otherwise the next read would read the same chats again in vain
            self._notified.update(dict.fromkeys(found.more.union(found.damaged)))
        return found.checked()

    def _take_notified(self) -> set[str]:
        """Return the notified chats, and remove them from `_notified`."""
        taken = set[str]()
        while self._notified:
            taken.add(self._notified.popitem()[0])
        return taken

    def _follow_all(self, listed: ChatList) -> None:
        """Follow the chats of *listed*, and stop following others."""
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
    """Record a notified chat and wake the stream. The notifier uses it in place of an event."""

    def __init__(self, notified: dict[str, None], chat: str, wakeup: AutoResetEvent) -> None:
        self._notified = notified
        self._chat = chat
        self._wakeup = wakeup

    def set(self) -> None:
        """Record the chat and wake the stream. Any thread may call it."""
        self._notified[self._chat] = None
        self._wakeup.set()
