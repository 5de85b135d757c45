"""Define the status of mailboxes and chats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from ..core.clock import from_epoch_ms
from ..errors import DecodeError
from .options import UNTIL_READ, Keep, Overflow

_LATEST_MS: Final = 253_402_300_799_000
"""The end of the year 9999, the latest time that `datetime` can hold."""

_MAX_MS_DIGITS: Final = 14
_MAX_SEQ_DIGITS: Final = 16


class Unread(NamedTuple):
    """Hold the reply of `unread.lua` for one chat.

    Attributes:
        messages: number of messages that the user has not acknowledged.
        newest_ms: when the newest message was sent (ms since 1970); 0: unknown.
    """

    messages: int
    newest_ms: int

    @classmethod
    def of(cls, count: bytes, last: bytes) -> Unread:
        """Parse the number of unread messages, and *last*, the id of the newest message."""
        sent = last.rpartition(b"-")[2]
        return cls(int(count), int(sent) if sent.isdigit() and len(sent) <= _MAX_MS_DIGITS else 0)


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """Hold the status of a mailbox.

    Attributes:
        unread: number of messages that are not acknowledged.
        oldest_at: when the oldest unread message was sent; None: there is no unread message.
        last_seen_at: when the owner last acknowledged a message; None: never.
        read_seq: number of the last message that the owner has acknowledged.
        dropped: number of unread messages that were dropped so far to store newer ones.
        capacity: maximum number of unread messages.
        overflow: `reject` (a full mailbox refuses messages) or `drop_oldest`.
    """

    unread: int
    oldest_at: datetime | None
    last_seen_at: datetime | None
    read_seq: int
    dropped: int
    capacity: int
    overflow: Overflow


@dataclass(frozen=True, slots=True)
class Reader:
    """Hold how far a member of a chat has read.

    Attributes:
        user: name of the member.
        read_seq: number of the last message that the member has acknowledged.
        unread: number of messages that the member has not acknowledged and can still fetch.
        last_seen_at: when the member last acknowledged or sent a message, or joined. None: unknown,
            because `keep` is not `until_read`, or the member was not active since it was set.
        holds_back: whether the chat keeps messages because this member has not read them.
        lets_go_at: when the chat stops keeping messages for this member if the member stays
            inactive; None if `holds_back` is False.
    """

    user: str
    read_seq: int
    unread: int
    last_seen_at: datetime | None
    holds_back: bool
    lets_go_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """Hold the status of a chat.

    Attributes:
        members: number of members.
        first_seq: number of the oldest message that is kept.
        last_seq: number of the newest message; less than `first_seq` if no message is kept.
        stored_bytes: approximate memory of the messages on the server, in bytes.
        keep: number of messages that the chat keeps, or `until_read`.
        idle_ttl: seconds after which the chat keeps no messages for an inactive member, if `keep`
            is `until_read`.
        created_at: when the chat was created.
        behind: the members who are furthest behind.
    """

    members: int
    first_seq: int
    last_seq: int
    stored_bytes: int
    keep: Keep
    idle_ttl: float
    created_at: datetime
    behind: tuple[Reader, ...]


def chat_status(reply: Sequence[Any], stored_bytes: int) -> ChatStatus:
    """Return the status in a reply of `chat_status.lua`."""
    now, members, epoch, top, floor, keep, idle_ms, since, *readers = reply
    until_read = kept(keep) == UNTIL_READ
    behind = []
    for user, cursor, last_seen in zip(readers[::3], readers[1::3], readers[2::3], strict=True):
        read_seq = int(float(cursor))
        unread = max(0, int(top) - max(read_seq, int(floor) - 1))
        last_ms = max(int(last_seen or 0) + 1000, int(since))  # active until the end of that second
        until_ms = last_ms + int(idle_ms)
        holds_back = until_read and until_ms >= int(now) and unread > 0
        lets_go_at = from_epoch_ms(min(until_ms, _LATEST_MS)) if holds_back else None
        name = user.decode(errors="backslashreplace")
        behind.append(Reader(name, read_seq, unread, instant(last_seen), holds_back, lets_go_at))
    return ChatStatus(
        members,
        int(floor),
        int(top),
        stored_bytes,
        kept(keep),
        int(idle_ms) / 1000,
        from_epoch_ms(int(epoch) // 1000),
        tuple(behind),
    )


def mailbox_status(reply: Sequence[Any]) -> MailboxStatus:
    """Return the status in a reply of `mailbox_status.lua`."""
    unread, oldest, seen, cursor, dropped, capacity, overflow = reply
    kind: Literal["reject", "drop_oldest"] = "reject" if overflow == b"reject" else "drop_oldest"
    return MailboxStatus(
        int(unread),
        instant(oldest),
        instant(seen),
        int(float(cursor)),
        int(dropped),
        int(capacity),
        kind,
    )


def read_seq(score: bytes, what: str) -> int:
    """Return the score of a member as a number of a message. Errors name the score as *what*.

    Raises:
        DecodeError: the score is not valid.
    """
    if score.isdigit() and len(score) <= _MAX_SEQ_DIGITS:
        return int(score)
    raise DecodeError(what, f"{score[:40]!r} is not the number of a message")


def kept(stored: bytes) -> Keep:
    """Return the value of `keep` from its stored form."""
    return UNTIL_READ if stored == UNTIL_READ.encode() else int(stored)


def instant(ms: bytes | None) -> datetime | None:
    """Return the time *ms* (since 1970) of a reply; None for an empty value."""
    return from_epoch_ms(int(float(ms))) if ms else None
