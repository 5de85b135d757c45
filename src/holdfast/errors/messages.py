"""Errors of mailboxes and chats."""

from __future__ import annotations

from datetime import datetime

from .base import HoldfastError, shortened


class MailboxFull(HoldfastError):
    """A mailbox has as many unread messages as allowed. The message was not stored.

    Attributes:
        mailbox: name of the mailbox.
        capacity: how many messages may be unread: in total, or of *sender* if it is set.
        oldest_at: when the oldest unread message was sent; None if unknown.
        sender: the sender that reached the limit `per_sender` of `send`; None: the mailbox is full.
    """

    def __init__(
        self,
        mailbox: str,
        capacity: int,
        oldest_at: datetime | None,
        *,
        sender: str | None = None,
    ) -> None:
        since = f", the oldest since {oldest_at.isoformat(' ', 'seconds')}" if oldest_at else ""
        if sender is None:
            super().__init__(
                f"mailbox {mailbox!r} is full: {capacity:,} messages are unread{since}; nothing "
                "was put into it; wait for its reader, or redefine(capacity=…, "
                "overflow='drop_oldest')"
            )
        else:
            super().__init__(
                f"mailbox {mailbox!r} takes at most {capacity:,} unread messages of one sender, "
                f"and {shortened(sender)} has reached that; nothing was put into it; wait for its "
                "reader"
            )
        self.mailbox = mailbox
        self.capacity = capacity
        self.oldest_at = oldest_at
        self.sender = sender


class NoSuchChat(HoldfastError, LookupError):
    """A chat does not exist: it was never created, its last member left, or the server lost it.

    Attributes:
        chat_id: id of the chat.
    """

    def __init__(self, chat_id: str) -> None:
        super().__init__(
            f"there is no chat {shortened(chat_id)}: create_chat makes one; it is gone when its "
            "last member leaves"
        )
        self.chat_id = chat_id


class NotAMember(HoldfastError):
    """A user is not, or no longer, a member of a chat. Nothing was changed.

    Attributes:
        user: name of the user.
        chat_id: id of the chat.
    """

    def __init__(self, user: str, chat_id: str) -> None:
        super().__init__(
            f"{shortened(user)} is not a member of chat {shortened(chat_id)}: nothing was changed; "
            "join first"
        )
        self.user = user
        self.chat_id = chat_id


class ChatExists(HoldfastError):
    """A chat with that id exists already. It was not changed.

    Attributes:
        chat_id: id of the chat.
    """

    def __init__(self, chat_id: str) -> None:
        super().__init__(
            f"chat {shortened(chat_id)} exists already and was not changed: join it, or leave "
            "chat_id out to get a new one"
        )
        self.chat_id = chat_id


class TooManyMembers(HoldfastError, ValueError):
    """A chat would have more members than allowed. No member was added.

    Attributes:
        what: names the chat.
        members: number of members that it has, or would have.
        limit: largest allowed number of members.
    """

    def __init__(self, what: str, members: int, limit: int) -> None:
        super().__init__(
            f"{what} has at most {limit:,} members, not more than these {members:,}: no member "
            "was added; use several chats"
        )
        self.what = what
        self.members = members
        self.limit = limit


class StaleBatch(HoldfastError):
    """The server has lost the messages of a batch, so the batch cannot be acknowledged.

    The mailbox or chat of this name, or the message with the batch's last number, is now another
    one. Nothing was acknowledged. The next batch reports the loss with a `Gap`.

    Attributes:
        what: the mailbox or chat, such as `mailbox 'jack451'`.
        epoch: epoch of the batch.
    """

    def __init__(self, what: str, epoch: int) -> None:
        super().__init__(
            f"{what} is not the one that this batch came from (epoch {epoch}): the server lost "
            "that; nothing was acknowledged, fetch again"
        )
        self.what = what
        self.epoch = epoch


class NoSuchMessage(HoldfastError, LookupError):
    """No message of a mailbox or chat has had this number yet. Nothing was changed.

    Attributes:
        what: the mailbox or chat, such as `mailbox 'jack451'`.
        seq: the number.
        top: number of the newest message; 0: there is no message.
    """

    def __init__(self, what: str, seq: int, top: int) -> None:
        super().__init__(
            f"{what} has no message {seq} yet, its newest is {top}: nothing was changed; if the "
            "number came from a batch, the server lost that message, so fetch again"
        )
        self.what = what
        self.seq = seq
        self.top = top
