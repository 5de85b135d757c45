"""What mailboxes and chats look like from outside, at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from ..core.clock import from_epoch_ms
from ..errors import DecodeError
from .options import UNTIL_READ, Keep, Overflow

_LATEST_MS: Final = 253_402_300_799_000
"""The end of the year 9999, the latest instant that Python has."""

_LONGEST_MS: Final = 14
_LONGEST_SEQ: Final = 16


class Unread(NamedTuple):
    """What `unread.lua` says of one chat.

    Attributes:
        messages: messages that the user has not acknowledged.
        newest_ms: when the newest message was sent; 0: not known.
    """

    messages: int
    newest_ms: int

    @classmethod
    def of(cls, count: bytes, last: bytes) -> Unread:
        """Return it from the count and the id of the newest message."""
        sent = last.rpartition(b"-")[2]
        return cls(int(count), int(sent) if sent.isdigit() and len(sent) <= _LONGEST_MS else 0)


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """Whether the reader has been here, and whether too much is waiting.

    Attributes:
        unread: messages that are not acknowledged.
        oldest_at: when the oldest of these was sent; None: there is none.
        last_seen_at: when something was last acknowledged; None: never.
        read_seq: the number up to which it is acknowledged.
        dropped: unread messages that had to go for newer ones, in all.
        capacity: how many messages may be unread.
        overflow: what happens to more: `reject` or `drop_oldest`.
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
        user: who.
        read_seq: the number up to which it has acknowledged.
        unread: messages that it can still get.
        last_seen_at: when it last acknowledged, sent or joined; None: not since the chat keeps
            messages until they are read, or it does not do that.
        holds_back: whether messages are kept because this one has not read them.
        lets_go_at: when it holds them back no longer if it stays silent; None: it holds none.
    """

    user: str
    read_seq: int
    unread: int
    last_seen_at: datetime | None
    holds_back: bool
    lets_go_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """What a chat keeps, and for whom.

    Attributes:
        members: how many it has.
        first_seq: the number of the oldest message that is kept.
        last_seq: the number of the newest message; less than `first_seq` when none is kept.
        stored_bytes: what they take on the server, about.
        keep: how many messages it keeps, or `until_read`.
        idle_ttl: with `until_read`: after how many seconds a silent member holds nothing back.
        created_at: when it began.
        behind: the members who are furthest behind, at most as many as were asked for.
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
    """What `survey.lua` says."""
    now, members, epoch, top, floor, keep, idle_ms, since, *readers = reply
    until_read = kept(keep) == UNTIL_READ
    behind = []
    for user, cursor, life in zip(readers[::3], readers[1::3], readers[2::3], strict=True):
        read_seq = int(float(cursor))
        unread = max(0, int(top) - max(read_seq, int(floor) - 1))
        counts_until = max(int(life or 0) + 1000, int(since)) + int(idle_ms)  # seen in that second
        holds_back = until_read and counts_until >= int(now) and unread > 0
        lets_go_at = from_epoch_ms(min(counts_until, _LATEST_MS)) if holds_back else None
        name = user.decode(errors="backslashreplace")
        behind.append(Reader(name, read_seq, unread, instant(life), holds_back, lets_go_at))
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
    """What `status.lua` says."""
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
    """Return up to where a member has acknowledged.

    Raises:
        DecodeError: another program has written something else.
    """
    if score.isdigit() and len(score) <= _LONGEST_SEQ:
        return int(score)
    raise DecodeError(what, f"{score[:40]!r} is not the number of a message")


def kept(stored: bytes) -> Keep:
    """What a chat keeps, as its user said it."""
    return UNTIL_READ if stored == UNTIL_READ.encode() else int(stored)


def instant(ms: bytes | None) -> datetime | None:
    """An instant of a reply; None where it has none."""
    return from_epoch_ms(int(float(ms))) if ms else None
