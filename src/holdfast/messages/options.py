"""Check the arguments of mailboxes, chats and inboxes, without I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
"""Maximum number of messages that a mailbox or chat keeps, whatever its settings are."""

MAX_MEMBERS: Final = 10_000
MAX_LIMIT: Final = 1_000
"""Maximum number of messages in one reply."""

MAX_SEQ: Final = 2**53 - 1

_MAX_SENT_MS: Final = 2**64 - 1
"""Largest time in an id of a stream. Other programs may write ids with times that Holdfast does
not use."""


def checked_name(name: str, what: str) -> str:
    """Return *name*, the name of a user, mailbox or chat. Errors for an empty name call it *what*.

    Raises:
        InvalidName: *name* is empty, too long, or not valid text.
        TypeError: *name* is not a string.
    """
    encode_name(name)
    if not name:
        raise InvalidName(name, f"{what} needs one")
    return name


def checked_reader(reader: str | None) -> str:
    """Return *reader*, the name of a member; empty for None."""
    return "" if reader is None else checked_name(reader, "a member")


def checked_seq(seq: int, what: str = "seq") -> int:
    """Return *seq*, the number of a message or 0.

    Raises:
        ValueError, TypeError: *seq* cannot be the number of a message.
    """
    seq = checked_int(seq, what)
    if not 0 <= seq <= MAX_SEQ:
        raise ValueError(f"{what} must be the number of a message, got {seq}")
    return seq


def check_edges(before: int | None, after: int | None) -> None:
    """Check the arguments *before* and *after* of a page of messages: it ends before the one, or
    begins after the other.

    Raises:
        ValueError, TypeError: both are given, or one cannot be the number of a message.
    """
    if before is not None and after is not None:
        raise ValueError("before and after exclude each other: give one of them")
    if before is not None:
        checked_int(before, "before", 1, MAX_SEQ)
    if after is not None:
        checked_seq(after, "after")


def checked_overflow(overflow: Overflow) -> str:
    """Return *overflow* if it is `reject` or `drop_oldest`."""
    return _checked_choice(overflow, "overflow", OVERFLOWS)


def checked_keep(keep: Keep) -> str:
    """Return *keep* in the form in which it is stored."""
    if keep == UNTIL_READ:
        return UNTIL_READ
    if not isinstance(keep, str):
        return str(checked_int(keep, "keep", 1, MAX_KEPT))
    raise ValueError(f"keep must be a number of messages or {UNTIL_READ!r}, got {keep!r}")


def checked_history(history: History) -> str:
    """Return *history* if it is `since_join` or `open`."""
    return _checked_choice(history, "history", HISTORIES)


def _checked_choice(value: str, what: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise ValueError(f"{what} must be one of {', '.join(choices)}, got {value!r}")
    return value


def checked_start(start: Start) -> str:
    """Return *start* as an argument of `join.lua`."""
    if isinstance(start, str):
        if start not in ("now", "floor"):
            raise ValueError(f"start must be 'now', 'floor' or a number, got {start!r}")
        return start
    if checked_seq(start, "start") == 0:
        raise ValueError("start must be the number of a message, 1 or more; or 'now' or 'floor'")
    return str(start)


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Hold the options of a new chat.

    Attributes:
        members: names of the first members, without duplicates.
        sender: the member that sends the first message.
        chat_id: id of the chat; None: the client generates one.
        keep: number of messages to keep, as text; or `until_read`.
        idle_ms: milliseconds after which the chat keeps no messages for an inactive member.
        history: `since_join`: later members may not read earlier messages; `open`: they may.
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
        """Return the options that a user gives. The sender becomes a member.

        Raises:
            TooManyMembers: there are more than 10,000 members.
            ValueError, TypeError: an option is not valid; the text names it.
        """
        if isinstance(members, str | bytes):
            raise TypeError("members must be a list of names, not one str")
        names = [*members, checked_name(sender, "a sender")]
        users = list(dict.fromkeys(checked_name(member, "a member") for member in names))
        if len(users) > MAX_MEMBERS:
            raise TooManyMembers("a chat", len(users), MAX_MEMBERS)
        if chat_id is not None:
            checked_name(chat_id, "a chat")
        settings = (checked_keep(keep), to_ms(idle_ttl, "idle_ttl"), checked_history(history))
        return cls(users, sender, chat_id, *settings)


def checked_positions(after: Mapping[str, Position]) -> dict[str, Position]:
    """Return the positions that a device gave: mailbox or chat → position.

    A position with epoch 0 is valid: the device has no messages, and reads from the first message
    that its user may read.

    Raises:
        ValueError, TypeError: a position is not valid.
    """
    if not isinstance(after, Mapping):
        raise TypeError(f"after takes chat ids with positions, not {type(after).__name__}")
    for position in after.values():
        if not isinstance(position, Position):
            raise TypeError(f"after takes a Position, not {type(position).__name__}")
        checked_seq(position.epoch, "the epoch of a position")
        checked_seq(position.seq, "the seq of a position")
        if position.sent_ms is not None:
            checked_int(position.sent_ms, "the sent_ms of a position", 0, _MAX_SENT_MS)
    return dict(after)
