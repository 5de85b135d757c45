"""Every key of a mailbox, a chat and a user's list of chats: its type, content and lifetime.

A mailbox or chat in which nothing is sent or acknowledged for 400 days expires, and so does the
list of a user who joins and acknowledges nothing for as long.
"""

from __future__ import annotations

from ..core.names import Unit

MAILBOX = "mailbox"
CHAT = "chat"
INBOX = "inbox"

# A mailbox, a chat


def meta(unit: Unit) -> str:
    """HASH of what there is: `epoch` (us of its creation), `top` and `floor` (the numbers of the
    newest message and of the oldest one kept), `last` (the id of the newest message in the log),
    `day` (when its life was last extended).

    A mailbox has `capacity`, `overflow` and `dropped` (unread messages that had to go). A chat has
    `keep`; with `until_read` also `idle_ms`, `since` and `counted` (when that was said, and when
    the readers who hold messages back were last looked at; ms). `first:USER` is the number of the
    first message that a later member may read; with `history`, `open`, it may read all.
    """
    return unit.key("meta")


def log(unit: Unit) -> str:
    """STREAM `number-ms` (when it was sent) → one field: the sender, and the body.

    A body is `j` and JSON, or `b` and bytes. What was sent in a trace has a second field, `trace`.
    """
    return unit.key("log")


def cursors(unit: Unit) -> str:
    """ZSET of the readers, scored by the number up to which each has acknowledged."""
    return unit.key("cursors")


def active(unit: Unit) -> str:
    """HASH reader → its last sign of life (s since `epoch`): it acknowledged, sent or joined.

    Kept where it matters: in mailboxes, and in chats that keep messages until they are read.
    """
    return unit.key("active")


def senders(unit: Unit) -> str:
    """HASH sender → how much of it is unread in a mailbox, where `send` was given a bound for that.

    Up to 16 parts, the oldest first: the number of the last message of each, `=`, how many it has.
    """
    return unit.key("senders")


# A user


def chats(unit: Unit) -> str:
    """ZSET of the chats of a user, scored by when each was noted (ms). A hint; chats know better.

    Less 10,000,000,000,000 while others have added the user to the chat, and the user has neither
    sent nor acknowledged anything in it. The member `` (empty) stands for the list itself, scored
    by when it began (us).
    """
    return unit.key("chats")


def added(unit: Unit) -> str:
    """HASH chat → `=` and who added the user, for the chats with a score below 0."""
    return unit.key("added")
