# Generated from _async/inbox.py by tools/unasync.py: edit that, then run `make sync`.
"""The inbox of one user: all its chats."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.clock import Duration
from ...core.names import Unit
from ..chat_list import ChatList
from ..message import Batch, Position
from ..options import checked_name, checked_positions
from ..seen_positions import batch_position
from ..states import Unread
from .inbox_chats import InboxChats
from .inbox_stream import InboxStream
from .messaging import Messaging
from .reader import Reader


class Inbox(Reader):
    """The inbox of a user: the new messages of all its chats.

    Create it with `Holdfast.inbox`. One object serves all tasks and threads. It remembers what
    it has returned, so it notices when the server loses messages.

    It reads 1,000 chats of the user's own, the latest added first: those that the user created or
    joined, or in which it has sent or acknowledged a message. Chats to which others added the user
    fill what is left of the 1,000, and have at least 100 places. When these are used up, the list
    drops the oldest chat of the member who added the user to the most chats.
    """

    def __init__(self, messaging: Messaging, user: str) -> None:
        self.user = checked_name(user, "a user")
        super().__init__(messaging, messaging.membership.unit(user))
        self._chats = InboxChats(messaging, self.user, self._seen)
        self._listed = ChatList(0, {})

    def __repr__(self) -> str:
        return f"Inbox({self.user!r})"

    def fetch(
        self,
        *,
        limit: int = 100,
        timeout: Duration | None = 0.0,
        after: Mapping[str, Position] | None = None,
    ) -> list[Batch]:
        """Return the messages that are not acknowledged, in a batch for each chat.

        The chat with the oldest unread message comes first. Chats in which the user has neither
        sent nor acknowledged anything come after all others.

        It changes nothing: `ack` each batch when you have processed it.

        Args:
            limit: messages at most in all, 1 to 1,000. Fewer come if they take more than 4 MiB.
            timeout: seconds (or a timedelta) to wait for the first message; 0: do not wait; None:
                wait forever.
            after: chat → position of the last batch that this device has of it. These chats are
                read from there on, even if another device of the user has acknowledged more. If
                the server has lost messages that the device has, a `Gap` with the reason `reset`
                says so, and all messages that the user may read come again.

        Returns:
            A batch for each chat with new messages; empty if there is none.

        Raises:
            DecodeError: a chat is damaged, and no other chat has new messages.
        """
        return self._fetch(limit, timeout, checked_positions(after or {}))

    def stream(self, *, after: Mapping[str, Position] | None = None) -> InboxStream:
        """Return a stream of the new messages, for a device that stays connected.

        It reads all chats once, and then only chats with a notification from the server. `fetch`
        reads all chats each time.

        Args:
            after: chat → position of the last batch that this device has of it, as in `fetch`.
        """
        positions = checked_positions(after or {})
        return InboxStream(self.user, self._messaging, self._chats, positions)

    def ack(self, batch: Batch) -> None:
        """Acknowledge all messages of a batch, and all before them in its chat.

        A second or late call changes nothing: acknowledgments are never taken back.

        Raises:
            StaleBatch: the server lost the chat, or the last message of the batch, and reused its
                number; fetch again.
            NotAMember: the user has left the chat.
            NoSuchChat: the chat does not exist.
            NoSuchMessage: the server lost the newest messages; fetch again.
        """
        if not isinstance(batch, Batch):
            raise TypeError(f"ack takes a Batch, as fetched, not {type(batch).__name__}")
        if not batch.upto:
            return
        log = self._messaging.chat(batch.source)
        log.ack(self.user, batch_position(batch), batch.position)
        self._seen.note(batch.source, batch.position)
        self._messaging.membership.note_activity(self.user, batch.source)

    def unread(self) -> dict[str, int]:
        """Return how many messages are unread in each chat of the user, in the order of `chats`.

        Raises:
            DecodeError: a chat is damaged.
        """
        return {chat: unread.messages for chat, unread in self._unread()}

    def chats(self) -> list[str]:
        """Return the ids of the chats of the user, the one with the newest message first.

        Raises:
            DecodeError: a chat is damaged.
        """
        return [chat for chat, _ in self._unread()]

    def size(self) -> int:
        """Return how many chats the other methods read: it determines what they cost the server."""
        return self._messaging.membership.size(self.user)

    def _unread(self) -> list[tuple[str, Unread]]:
        """Return the chats that the user is a member of, the one with the newest message first."""
        listed = self._messaging.membership.read(self.user)
        found = self._chats.unread(listed.chats)
        order = {chat: number for number, chat in enumerate(listed.chats)}
        return sorted(found, key=lambda each: (-each[1].newest_ms, order[each[0]]))

    def _read(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        seen, before = self._seen.snapshot() | dict(after), self._listed
        listed = self._messaging.membership.read(self.user)
        found = self._chats.read(listed, listed.chats, seen, limit, after, before=before)
        self._listed = listed
        # Follow also chats that the user is about to join: the client that adds the user may crash
        # before it notifies the inbox a second time.
        units = frozenset([self._unit, *(self._messaging.chat(c).unit for c in listed.chats)])
        return found.checked(), units
