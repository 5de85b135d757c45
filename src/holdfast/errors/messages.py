"""What can go wrong with mailboxes and chats."""

from __future__ import annotations

from datetime import datetime

from .base import HoldfastError, shortened


class MailboxFull(HoldfastError):
    """As many messages wait unread in a mailbox as may; this one was not put into it.

    Attributes:
        mailbox: its name.
        capacity: how many messages may be unread; with a *sender*, how many of that one.
        oldest_at: when the oldest of them was sent; None when that is not known.
        sender: whose messages are too many (`per_sender` of `send`); None: all together are.
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
                f"and {shortened(sender)} has as many there; nothing was put into it; wait for its "
                "reader"
            )
        self.mailbox = mailbox
        self.capacity = capacity
        self.oldest_at = oldest_at
        self.sender = sender


class NoSuchChat(HoldfastError, LookupError):
    """A chat that was never created, that its last member has left, or that the server lost.

    Attributes:
        chat_id: its id.
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
        user: who.
        chat_id: of which chat.
    """

    def __init__(self, user: str, chat_id: str) -> None:
        super().__init__(
            f"{shortened(user)} is not a member of chat {shortened(chat_id)}: nothing was changed; "
            "join first"
        )
        self.user = user
        self.chat_id = chat_id


class ChatExists(HoldfastError):
    """There is a chat with that id already. It was not changed.

    Attributes:
        chat_id: the id.
    """

    def __init__(self, chat_id: str) -> None:
        super().__init__(
            f"chat {shortened(chat_id)} exists already and was not changed: join it, or leave "
            "chat_id out to get a new one"
        )
        self.chat_id = chat_id


class TooManyMembers(HoldfastError, ValueError):
    """A chat would have more members than it may. No member was added.

    Attributes:
        what: which chat.
        members: how many it has, or would have.
        limit: how many it may have.
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
    """The server lost what a batch came from: the mailbox or chat, or its newest messages.

    The log of that name, or the message of the batch's last number, is another one now. Nothing was
    acknowledged. The next batch says what happened with a `Gap`.

    Attributes:
        what: such as `mailbox 'jack451'`.
        epoch: of the batch.
    """

    def __init__(self, what: str, epoch: int) -> None:
        super().__init__(
            f"{what} is not the one that this batch came from (epoch {epoch}): the server lost "
            "that; nothing was acknowledged, fetch again"
        )
        self.what = what
        self.epoch = epoch


class NoSuchMessage(HoldfastError, LookupError):
    """A number that no message of a mailbox or chat has had yet. Nothing was changed.

    Attributes:
        what: such as `mailbox 'jack451'`.
        seq: the number.
        top: the number of its newest message; 0: there is none.
    """

    def __init__(self, what: str, seq: int, top: int) -> None:
        super().__init__(
            f"{what} has no message {seq} yet, its newest is {top}: nothing was changed; if you "
            "were given that number, the server lost it, so fetch again"
        )
        self.what = what
        self.seq = seq
        self.top = top
