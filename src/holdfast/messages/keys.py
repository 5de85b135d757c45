"""Every key of a mailbox, a chat and a user's list of chats: its type, content and lifetime.

A mailbox or chat expires after 400 days in which no message is sent or acknowledged. The list of a
user expires after 400 days in which the user joins no chat and acknowledges nothing.
"""

from __future__ import annotations

from ..core.names import Unit

MAILBOX = "mailbox"
CHAT = "chat"
INBOX = "inbox"

# A mailbox, a chat


def meta(unit: Unit) -> str:
    """HASH with `epoch` (us of its creation), `top` and `floor` (the numbers of the newest message
    and of the oldest one kept), `last` (the id of the newest message in the log), `day` (when its
    expiry was last extended).

    A mailbox has `capacity`, `overflow` and `dropped` (unread messages that were dropped). A chat
    has `keep`. With `until_read` it also has `idle_ms`, `since` (when `keep` was set) and
    `counted` (when the server last looked for the readers that hold messages back), both in ms.
    `first:USER` is the number of the first message that a later member may read. If `history` is
    `open`, members may read all messages.
    """
    return unit.key("meta")


def log(unit: Unit) -> str:
    """STREAM `number-ms` (when it was sent) → one field: the sender, and the body.

    A body is `j` and JSON, or `b` and bytes. A message sent in a trace has a second field, `trace`.
    """
    return unit.key("log")


def cursors(unit: Unit) -> str:
    """ZSET of the readers, scored by the number up to which each has acknowledged."""
    return unit.key("cursors")


def active(unit: Unit) -> str:
    """HASH reader → when it last acknowledged, sent or joined (s since `epoch`).

    Only mailboxes, and chats that keep messages until they are read, have it.
    """
    return unit.key("active")


def senders(unit: Unit) -> str:
    """HASH sender → its unread messages in a mailbox, if `send` was called with `per_sender`.

    Up to 16 groups, the oldest first: the number of the last message of the group, `=`, its size.
    """
    return unit.key("senders")


# A user


def chats(unit: Unit) -> str:
    """ZSET of the chats of a user, scored by when each was added (ms). A hint: the members of a
    chat are in its `cursors`.

    The score is lower by 10,000,000,000,000 if another user added this one, until this one sends or
    acknowledges something in the chat. The member `` (empty) stands for the list itself, scored
    by when it was created (us).
    """
    return unit.key("chats")


def added(unit: Unit) -> str:
    """HASH chat → `=` and who added the user, for the chats with a score below 0."""
    return unit.key("added")
