"""Every key of a mailbox, a chat and a user's list of chats: its type, content and lifetime.

A mailbox or chat expires 400 days after the last message was sent or acknowledged. The list of a
user expires 400 days after the user last joined a chat or was active in one.
"""

from __future__ import annotations

from ..core.names import Unit

MAILBOX = "mailbox"
CHAT = "chat"
INBOX = "inbox"

# A mailbox, a chat


def meta(unit: Unit) -> str:
    """HASH of the state and the settings.

    - `epoch`: when the mailbox or chat was created (us).
    - `top`: number of the newest message. `floor`: number of the oldest message that is kept.
    - `last`: id of the newest message in the log.
    - `day`: day on which the expiry was last extended, in days since 1970.

    Only mailboxes:

    - `capacity`, `overflow`: settings.
    - `dropped`: number of unread messages that were dropped.

    Only chats:

    - `keep`, `idle_ms`, `history`: settings. If `history` is `open`, members may read all messages.
    - `since`: when `keep` was set (ms).
    - `counted`: when the server last searched for messages that no active reader needs any more
      (ms).
    - `first:USER`: number of the first message that this member may read.
    """
    return unit.key("meta")


def log(unit: Unit) -> str:
    """STREAM of the messages. An id is `NUMBER-MS`: number of the message, and when it was sent.

    The name of the first field is the sender, its value the body: `j` and JSON, or `b` and bytes. A
    message that was sent in a trace has a second field, `trace`.
    """
    return unit.key("log")


def cursors(unit: Unit) -> str:
    """ZSET of the readers, scored by the number up to which they have acknowledged messages."""
    return unit.key("cursors")


def active(unit: Unit) -> str:
    """HASH reader → when the reader was last active: acknowledged, sent or joined (s since
    `epoch`).

    Only mailboxes, and chats with `keep` set to `until_read`, have this key.
    """
    return unit.key("active")


def senders(unit: Unit) -> str:
    """HASH sender → its unread messages in a mailbox that were sent with `per_sender`.

    A value has up to 16 groups `NUMBER=SIZE`, separated by blanks, the oldest first. `NUMBER` is
    the number of the last message in the group, `SIZE` how many messages the group has.
    """
    return unit.key("senders")


# A user


def chats(unit: Unit) -> str:
    """ZSET of the chats of a user, scored by when each was added (ms). It is only a hint: `cursors`
    of a chat decides who is a member.

    If another user added this user, the score is lower by 10,000,000,000,000 until this user sends
    or acknowledges a message in the chat. The empty member is scored by when the list was created
    (us).
    """
    return unit.key("chats")


def added(unit: Unit) -> str:
    """HASH chat → `=` and the name of the user who added this user, for the chats with a score
    below 0 in `chats`."""
    return unit.key("added")
