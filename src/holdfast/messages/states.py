"""The state of a mailbox or chat at one moment, as a status call reports it."""

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
    """The unread messages of one chat: a reply of `unread.lua`.

    Attributes:
        messages: how many messages the user has not acknowledged.
        newest_ms: when the newest message was sent (ms since 1970); 0: unknown.
    """

    messages: int
    newest_ms: int

    @classmethod
    def of(cls, count: bytes, last: bytes) -> Unread:
        """Return the value for a count and the id of the newest message."""
        sent = last.rpartition(b"-")[2]
        return cls(int(count), int(sent) if sent.isdigit() and len(sent) <= _MAX_MS_DIGITS else 0)


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """The state of a mailbox.

    Attributes:
        unread: how many messages are not acknowledged.
        oldest_at: when the oldest unread message was sent; None: there is no unread message.
        last_seen_at: when the owner last acknowledged a message; None: never.
        read_seq: the number up to which the owner has acknowledged.
        dropped: how many unread messages were dropped for newer ones so far.
        capacity: how many messages may be unread.
        overflow: what a full mailbox does with a new message: `reject` or `drop_oldest`.
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
    """A member of a chat, as a reader.

    Attributes:
        user: the member.
        read_seq: the number up to which it has acknowledged.
        unread: how many messages it can still fetch.
        last_seen_at: when it last acknowledged, sent or joined. None: unknown, because the chat
            does not keep messages until they are read, or the member did nothing since it does.
        holds_back: whether the chat keeps messages because this member has not read them.
        lets_go_at: when the chat stops keeping them if the member stays inactive; None: it keeps
            none for this member.
    """

    user: str
    read_seq: int
    unread: int
    last_seen_at: datetime | None
    holds_back: bool
    lets_go_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """The state of a chat.

    Attributes:
        members: how many members it has.
        first_seq: the number of the oldest message that is kept.
        last_seq: the number of the newest message; less than `first_seq` when none is kept.
        stored_bytes: memory that the messages take on the server, approximately.
        keep: how many messages it keeps, or `until_read`.
        idle_ttl: seconds after which an inactive member holds no messages back (`until_read`).
        created_at: when it was created.
        behind: the members who are furthest behind, at most `limit` of them.
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
    """Return the number up to which a member has acknowledged. Errors name the score as *what*.

    Raises:
        DecodeError: another program has changed the score.
    """
    if score.isdigit() and len(score) <= _MAX_SEQ_DIGITS:
        return int(score)
    raise DecodeError(what, f"{score[:40]!r} is not the number of a message")


def kept(stored: bytes) -> Keep:
    """Return the stored value of `keep` as the user gave it."""
    return UNTIL_READ if stored == UNTIL_READ.encode() else int(stored)


def instant(ms: bytes | None) -> datetime | None:
    """Return the time in a reply; None for an empty value."""
    return from_epoch_ms(int(float(ms))) if ms else None
