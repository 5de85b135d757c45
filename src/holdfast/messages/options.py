"""What users say about mailboxes, chats and reading, checked before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ..core.checks import checked_int
from ..core.clock import Duration, to_ms
from ..core.names import encode_name
from ..errors import InvalidName, TooManyMembers
from .message import Position

Overflow = Literal["reject", "drop_oldest"]
Keep = int | Literal["until_read"]
Start = int | Literal["now", "floor"]
History = Literal["since_join", "open"]

OVERFLOWS: Final = ("reject", "drop_oldest")
UNTIL_READ: Final = "until_read"
HISTORIES: Final = ("since_join", "open")

MAX_KEPT: Final = 100_000
"""Messages that a mailbox or chat keeps at most, whatever its settings."""

MAX_MEMBERS: Final = 10_000
MAX_LIMIT: Final = 1_000
"""Messages in one answer at most."""

MAX_SEQ: Final = 2**53 - 1

_LATEST_MS: Final = 2**64 - 1
"""What the id of an entry can hold; another program may have written any."""


def checked_name(name: str, what: str) -> str:
    """*name* of a user, mailbox or chat.

    Raises:
        InvalidName: it is empty, too long, or no text.
        TypeError: it is not a string.
    """
    encode_name(name)
    if not name:
        raise InvalidName(name, f"{what} needs one")
    return name


def checked_reader(reader: str | None) -> str:
    """Who must be a member for something to be done; empty: it does not matter."""
    return "" if reader is None else checked_name(reader, "a member")


def checked_members(members: Iterable[str]) -> list[str]:
    """Each of *members* once, in order.

    Raises:
        TooManyMembers: they are more than 10,000.
        InvalidName: one of them cannot be a user.
        TypeError: a single string, or something else than strings.
    """
    if isinstance(members, str | bytes):
        raise TypeError("members must be several names, not a single str")
    users = list(dict.fromkeys(checked_name(member, "a member") for member in members))
    check_count(len(users))
    return users


def check_count(members: int) -> None:
    """Refuse more members than a chat may have."""
    if members > MAX_MEMBERS:
        raise TooManyMembers("a chat", members, MAX_MEMBERS)


def checked_seq(seq: int, what: str = "seq") -> int:
    """The number of a message, or 0.

    Raises:
        ValueError, TypeError: it cannot be one.
    """
    seq = checked_int(seq, what)
    if not 0 <= seq <= MAX_SEQ:
        raise ValueError(f"{what} must be the number of a message, got {seq}")
    return seq


def check_edges(before: int | None, after: int | None) -> None:
    """Refuse what says not clearly where a page of messages begins.

    Raises:
        ValueError, TypeError: both are given, or one is no number of a message.
    """
    if before is not None and after is not None:
        raise ValueError("before and after exclude each other: read on from one of them")
    if before is not None:
        before = checked_int(before, "before", 1, MAX_SEQ)
    if after is not None:
        checked_seq(after, "after")


def checked_overflow(overflow: Overflow) -> str:
    """What a full mailbox does."""
    if overflow not in OVERFLOWS:
        raise ValueError(f"overflow must be one of {', '.join(OVERFLOWS)}, got {overflow!r}")
    return overflow


def checked_keep(keep: Keep) -> str:
    """What a chat keeps, as it is stored."""
    if keep == UNTIL_READ:
        return UNTIL_READ
    if not isinstance(keep, str):
        return str(checked_int(keep, "keep", 1, MAX_KEPT))
    raise ValueError(f"keep must be a number of messages or {UNTIL_READ!r}, got {keep!r}")


def checked_history(history: History) -> str:
    """Return what a later member may read."""
    if history not in HISTORIES:
        raise ValueError(f"history must be one of {', '.join(HISTORIES)}, got {history!r}")
    return history


def checked_idle_ms(idle_ttl: Duration) -> int:
    """After how long a silent member holds nothing back any more."""
    return to_ms(idle_ttl, "idle_ttl")


def checked_start(start: Start) -> str:
    """Where a new member begins to read, as `join.lua` takes it."""
    if isinstance(start, str):
        if start not in ("now", "floor"):
            raise ValueError(f"start must be 'now', 'floor' or a number, got {start!r}")
        return start
    if checked_seq(start, "start") == 0:
        raise ValueError("start must be the number of a message, 1 or more; or 'now' or 'floor'")
    return str(start)


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How a chat begins.

    Attributes:
        members: each once.
        sender: of its first message, one of them.
        chat_id: its id; None for a new one.
        keep: what it keeps, as stored.
        idle_ms: after how long a silent member holds nothing back.
        history: whether later members may read what was sent before.
    """

    members: list[str]
    sender: str
    chat_id: str | None
    keep: str
    idle_ms: int
    history: str

    @classmethod
    def checked(
        cls,
        members: Iterable[str],
        sender: str,
        chat_id: str | None,
        keep: Keep,
        idle_ttl: Duration,
        history: History,
    ) -> ChatOptions:
        """As a user says it; ValueError and TypeError say what is wrong with it."""
        if isinstance(members, str | bytes):
            raise TypeError("members must be several names, not a single str")
        users = checked_members([*members, checked_name(sender, "a sender")])
        if chat_id is not None:
            checked_name(chat_id, "a chat")
        settings = (checked_keep(keep), checked_idle_ms(idle_ttl), checked_history(history))
        return cls(users, sender, chat_id, *settings)


def checked_positions(after: Mapping[str, Position]) -> dict[str, Position]:
    """What a device has, by mailbox or chat. With an epoch of 0 it has nothing, and reads from the
    first message that it may read.

    Raises:
        ValueError, TypeError: these are no positions.
    """
    for position in after.values():
        if not isinstance(position, Position):
            raise TypeError(f"after takes a Position, not {type(position).__name__}")
        checked_seq(position.epoch, "the epoch of a position")
        checked_seq(position.seq, "the seq of a position")
        if position.sent_ms is not None:
            checked_int(position.sent_ms, "the sent_ms of a position", 0, _LATEST_MS)
    return dict(after)
