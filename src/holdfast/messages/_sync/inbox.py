# Generated from _async/inbox.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the public class of inboxes: all chats of one user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...core.clock import Duration
from ...core.names import Unit
from ..chat_list import NO_CHATS, ChatList
from ..inbox_values import InboxBatches, InboxChatIds, InboxUnread
from ..message import Batch, Position
from ..options import checked_name, checked_positions
from ..seen_positions import batch_position
from ..states import Unread
from .inbox_chats import InboxChats
from .inbox_stream import InboxStream
from .messaging import Messaging
from .reader import MessageReader


class Inbox(MessageReader):
    """Read the new messages of all chats of a user.

    Create the object with `Holdfast.inbox`. All tasks and threads may share it. It remembers
    which messages it has returned, so it notices when the server loses messages.

    A user's *own* chats are those that the user created or joined, or in which the user has sent or
    acknowledged a message. The inbox reads the 1,000 own chats that were added last. It also reads
    chats to which other users added this user: 1,000 less the number of own chats, but at least
    100. If others add the user to more chats, one of these leaves the user's list: the oldest chat
    of the member who added the user to the most.

    If the user has more than 1,000 own chats, the results give the number of chats that were not
    read: `skipped_chats`.
    """

    def __init__(self, messaging: Messaging, user: str) -> None:
        self.user: str = checked_name(user, "a user")
        super().__init__(messaging, messaging.membership.unit(user))
        self._chats = InboxChats(messaging, self.user, self._seen)
        self._listed = NO_CHATS
        self._followed = NO_CHATS, frozenset([self._unit])

    def __repr__(self) -> str:
        return f"Inbox({self.user!r})"

    def fetch(
        self,
        *,
        limit: int = 100,
        timeout: Duration | None = 0.0,
        after: Mapping[str, Position] | None = None,
    ) -> InboxBatches:
        """Return the messages that are not acknowledged, in a batch for each chat.

        The chat with the oldest unread message comes first. Chats that are not the user's own come
        after the own ones. The messages stay unread until you `ack` their batch.

        Args:
            limit: maximum number of messages in all batches, 1 to 1,000. There are fewer if they
                take more than 4 MiB.
            timeout: seconds (or a timedelta) to wait for the first message; 0: do not wait; None:
                no limit.
            after: chat → position of the last batch that this device has. These chats are read from
                this position on, even if another device of the user has acknowledged more. If the
                server has lost messages that the device has, the batch has a `Gap` with the reason
                `reset`, and all messages that the user may read are returned again.

        Returns:
            A batch for each chat with new messages. `skipped_chats` of the result is the number of
            chats that were not read.

        Raises:
            DecodeError: a chat is damaged, and no other chat has new messages.
        """
        batches = self._fetch(limit, timeout, checked_positions(after or {}))
        return InboxBatches(batches, self._listed.skipped)

    def stream(self, *, after: Mapping[str, Position] | None = None) -> InboxStream:
        """Return a stream of the new messages, for a device that stays connected.

        The stream reads all chats once, and then only chats for which the server sent a
        notification. `fetch` reads all chats each time.

        Args:
            after: chat → position of the last batch that this device has, as in `fetch`.
        """
        positions = checked_positions(after or {})
        return InboxStream(self.user, self._messaging, self._chats, positions)

    def ack(self, batch: Batch) -> None:
        """Acknowledge all messages of a batch, and all earlier messages of its chat.

        Harmless to repeat. Acknowledging an older batch later has no effect.

        Raises:
            StaleBatch: the server lost the chat, or lost the last message of the batch and reused
                its number. Fetch again.
            NotAMember: the user has left the chat.
            NoSuchChat: the chat does not exist.
            NoSuchMessage: the server lost the newest messages. Fetch again.
        """
        _check_batch(batch, "ack")
        if not batch.upto:
            return
        log = self._messaging.chat(batch.source)
        log.ack(self.user, batch_position(batch), batch.position)
        self._seen.note(batch.source, batch.position)
        self._messaging.membership.note_activity(self.user, batch.source)

    def ack_all(self, batches: Iterable[Batch]) -> None:
        """Acknowledge several batches, such as all that `fetch` returned, in few calls.

        Each batch is acknowledged by itself, as `ack` does. If some batches cannot be acknowledged,
        the others still are. Then the error of the first failed batch is raised. Harmless to
        repeat.

        Raises:
            StaleBatch, NotAMember, NoSuchChat, NoSuchMessage: as `ack`.
        """
        given = list(batches)
        for batch in given:
            _check_batch(batch, "ack_all")
        asked = [batch for batch in given if batch.upto]
        errors = self._chats.ack(asked)
        acked = [batch for number, batch in enumerate(asked) if number not in errors]
        for batch in acked:
            self._seen.note(batch.source, batch.position)
        self._messaging.membership.note_activity(
            self.user, *dict.fromkeys(batch.source for batch in acked)
        )
        for number in sorted(errors):
            raise errors[number]

    def unread(self) -> InboxUnread:
        """Return how many messages are unread in each chat of the user, in the order of `chats`.

        Its `skipped_chats` is the number of chats that were not read.

        Raises:
            DecodeError: a chat is damaged.
        """
        found, skipped = self._unread()
        return InboxUnread({chat: unread.messages for chat, unread in found}, skipped)

    def chats(self) -> InboxChatIds:
        """Return the ids of the chats of the user, the one with the newest message first.

        Its `skipped_chats` is the number of chats that were not read.

        Raises:
            DecodeError: a chat is damaged.
        """
        found, skipped = self._unread()
        return InboxChatIds((chat for chat, _ in found), skipped)

    def size(self) -> int:
        """Return the number of chats that the other methods read. Their cost grows with it."""
        return self._messaging.membership.size(self.user)

    def _unread(self) -> tuple[list[tuple[str, Unread]], int]:
        """Return chats and unread messages, the chat with the newest message first; and the number
        of chats that were not read."""
        listed = self._messaging.membership.read(self.user, self._listed)
        found = self._chats.unread(listed.chats)
        order = {chat: number for number, chat in enumerate(listed.chats)}
        found.sort(key=lambda each: (-each[1].newest_ms, order[each[0]]))
        return found, listed.skipped

    def _read(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        seen, before = self._seen.snapshot(), self._listed
        again = () if after else self._chats.read_again(before, seen, limit)
        reply = again[0] if again else None
        listed = self._messaging.membership.read(self.user, before, reply)
        found = self._chats.read(
            listed,
            listed.chats,
            {**seen, **after} if after else seen,
            limit,
            after,
            before=before,
            answers=again[1:] if listed is before else (),
        )
        self._listed = listed
        return found.checked(), self._followed_units(listed)

    def _followed_units(self, listed: ChatList) -> frozenset[Unit]:
        """Return the units in which there may be news for the user."""
        followed = self._followed
        if followed[0] is not listed:
            # Follow also chats in the list that the user has not joined yet: the client that adds
            # the user may crash after the join, before it notifies the inbox.
            chats = (self._messaging.chat(chat).unit for chat in listed.chats)
            self._followed = followed = (listed, frozenset([self._unit, *chats]))
        return followed[1]


def _check_batch(batch: object, method: str) -> None:
    if not isinstance(batch, Batch):
        raise TypeError(f"{method} takes what fetch returned: a Batch, not {type(batch).__name__}")
