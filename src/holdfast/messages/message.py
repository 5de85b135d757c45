"""What a reader is given: messages, what cannot be read, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ..core.clock import from_epoch_ms
from ..core.names import Unit
from ..core.trace import TraceContext, restored
from ..errors import DecodeError
from . import keys
from .body import decoded_body

_PARTS: Final = 3
"""Of an entry: its id, the sender, the body."""

_LONGEST_NUMBER: Final = 16
"""Digits of the largest number that a script has exactly."""

_LONGEST_SENT: Final = 14
"""Digits of the milliseconds in an id. Behind more there is the trace, or nonsense."""


class Message(msgspec.Struct, frozen=True):
    """One message.

    Attributes:
        seq: its number, from 1 on without holes.
        sender: who sent it.
        body: a JSON value, or bytes.
        sent_at: when, by the server's clock.
        trace: in which it was sent; None: in none that is known.
    """

    seq: int
    sender: str
    body: Any
    sent_at: datetime
    trace: TraceContext | None = None


class Undecodable(msgspec.Struct, frozen=True):
    """A message whose body cannot be read. It is acknowledged like any other, and blocks nothing.

    It has the attributes of a `Message`, with None as the body, so that a program which reads only
    `message.body` goes on. `isinstance(message, Undecodable)` tells it from a message with null.

    Attributes:
        seq: its number.
        sender: who sent it, as far as that can be read.
        sent_at: when, likewise.
        reason: what is wrong with it.
    """

    seq: int
    sender: str
    sent_at: datetime
    reason: str

    @property
    def body(self) -> None:
        """Return None: there is no body that can be read."""
        return None

    @property
    def trace(self) -> None:
        """Return None: nothing else in the message is trusted."""
        return None


class Gap(msgspec.Struct, frozen=True):
    """Messages that this reader will not get.

    Attributes:
        first: the number of the first one.
        last: the number of the last one.
        reason: `dropped`: nobody kept them, because of the limits of the mailbox or chat. `reset`:
            the server lost what was shown here under these numbers, and gives them out anew;
            perhaps it lost more.
    """

    first: int
    last: int
    reason: Literal["dropped", "reset"]


class Position(msgspec.Struct, frozen=True):
    """How far one device has read one mailbox or chat: where `fetch(after=…)` goes on.

    Attributes:
        epoch: the incarnation of the mailbox or chat; 0: there was none, so the device has nothing.
        seq: the last number that the device has.
        sent_ms: when that message was sent (ms since 1970). It tells that message from another one
            that got the same number after the server lost the first. None: not known, so `fetch`
            takes what the device has for lost.
    """

    epoch: int
    seq: int
    sent_ms: int | None = None


class Batch(msgspec.Struct, frozen=True):
    """What is new in one mailbox or chat; true if that is anything.

    Attributes:
        source: the name of the mailbox, or the id of the chat.
        messages: in order, the oldest first.
        gap: what is missing before them; None: nothing.
        epoch: the incarnation of the mailbox or chat; 0: there is none, or it does not matter.
        upto: the number up to which acknowledging this acknowledges.
        upto_ms: when that message was sent (ms since 1970); None: not known. `ack` refuses the
            batch if the message of that number is another one now.
    """

    source: str
    messages: tuple[Message | Undecodable, ...]
    gap: Gap | None
    epoch: int
    upto: int
    upto_ms: int | None = None

    @property
    def position(self) -> Position:
        """Where it ends."""
        return Position(self.epoch, self.upto, self.upto_ms)

    def __bool__(self) -> bool:
        return bool(self.messages or self.gap)


class FetchReply(NamedTuple):
    """Where a reader stands in one log, and what comes next: a reply of `fetch.lua`.

    Attributes:
        epoch: 0 if there is no such log.
        top: the newest message.
        floor: the oldest one that is kept.
        cursor: the last one that was acknowledged, or that the device said it has; None: this is
            not a reader of it.
        oldest_ms: when the first entry was sent; None: nothing is unread, or it is not there.
        entries: id (and behind it the trace), sender and body of each, as stored; fewer than there
            are if they would be too many or too large.
        top_ms: when the newest message was sent; None: it is not known, or there are entries.
        same: whether the log holds what the reader was shown, as far as it was asked.
    """

    epoch: int
    top: int
    floor: int
    cursor: int | None
    oldest_ms: float | None
    entries: Sequence[Any]
    top_ms: int | None
    same: bool

    @classmethod
    def of(cls, unit: Unit, reply: Any) -> FetchReply:
        """Return the row of a reply.

        Raises:
            DecodeError: what the log says of itself is damaged.
        """
        if isinstance(reply, bytes):  # nothing is new
            reply = (reply, b"0", b"1", b"0", b"", (), b"", 1)
        epoch, top, floor, cursor, oldest, entries, top_ms, same = reply
        if not all(map(_is_whole, (epoch or b"0", top, floor, cursor or b"0"))):
            raise _damaged(unit, epoch, top, floor, cursor)
        row = cls(
            int(epoch or 0),
            int(top),
            int(floor),
            int(cursor) if cursor else None,
            float(oldest) if oldest else None,
            entries,
            int(top_ms) if _is_whole(top_ms) and len(top_ms) <= _LONGEST_SENT else None,
            same=bool(same),
        )
        if row.floor > row.top + 1 or (row.cursor or 0) > row.top:
            raise _damaged(unit, epoch, top, floor, cursor)
        return row

    def first(self, limit: int) -> FetchReply:
        """The same with so many entries at most."""
        most = _PARTS * limit
        return self if len(self.entries) <= most else self._replace(entries=self.entries[:most])

    @property
    def position(self) -> Position:
        """Return what is over for this reader, as a position."""
        seq = min(self.top, self.read_seq)
        return Position(self.epoch, seq, self.top_ms if seq == self.top else None)

    @property
    def waits(self) -> bool:
        """Return whether there are messages for which the reply had no room."""
        return bool(self.unread and self.oldest_ms is not None and not self.entries)

    @property
    def is_read(self) -> bool:
        """Whether its reader has acknowledged everything there is."""
        return self.cursor is not None and self.cursor >= self.top

    @property
    def read_seq(self) -> int:
        """What is over for this reader: acknowledged, or dropped."""
        return max(self.cursor or 0, self.floor - 1)

    @property
    def unread(self) -> int:
        """How many messages it can still get."""
        return 0 if self.cursor is None else max(0, self.top - self.read_seq)


class InboxResult(NamedTuple):
    """What one read of several chats found.

    Attributes:
        batches: what is new.
        more: chats that have more.
        damaged: chats that cannot be read, and why.
    """

    batches: list[Batch]
    more: set[str]
    damaged: Mapping[str, DecodeError]

    def checked(self) -> list[Batch]:
        """Return what is new.

        Raises:
            DecodeError: what is stored of a chat is damaged, and nothing is new in the others.
        """
        if self.damaged and not self.batches:
            raise next(iter(self.damaged.values()))
        return self.batches


def batch_of(source: str, row: FetchReply, reset: Gap | None) -> Batch:
    """What a row holds for its reader.

    Args:
        source: the mailbox or chat.
        row: where the reader stands there.
        reset: what the server has lost since it was last asked.
    """
    messages, cursor = messages_of(row.entries), row.cursor or 0
    if messages:
        there = messages[0].seq
    elif row.oldest_ms is None and row.unread:
        there = row.top + 1  # they should be there, and are not
    else:
        there = row.floor
    gap = Gap(cursor + 1, there - 1, "dropped") if there > cursor + 1 else None
    whole = _without_holes(messages)
    upto = whole[-1].seq if whole else max(cursor, there - 1)
    if whole:
        sent = row.entries[_PARTS * (len(whole) - 1)].partition(b" ")[0].rpartition(b"-")[2]
        upto_ms: int | None = int(sent)
    else:
        upto_ms = row.top_ms if upto == row.top else None
    return Batch(source, whole, reset or gap, row.epoch, upto, upto_ms)


def messages_of(entries: Sequence[Any]) -> tuple[Message | Undecodable, ...]:
    """The messages of stored entries: id, sender and body of each, one after the other."""
    return tuple(map(_message, *[iter(entries)] * _PARTS))


def traces_of(batches: Iterable[Batch]) -> Iterator[TraceContext]:
    """In which the messages were sent that say so."""
    for batch in batches:
        for message in batch.messages:
            if isinstance(message, Message) and message.trace is not None:
                yield message.trace


def _without_holes(
    messages: tuple[Message | Undecodable, ...],
) -> tuple[Message | Undecodable, ...]:
    """Up to the first hole: the next batch begins there, and says that it is one."""
    if not messages or messages[-1].seq - messages[0].seq == len(messages) - 1:
        return messages
    for i, message in enumerate(messages):
        if message.seq != messages[0].seq + i:
            return messages[:i]
    return messages


def _message(name: bytes, sender: bytes, body: bytes) -> Message | Undecodable:
    number, _, sent = name.partition(b"-")
    trace = None
    if len(sent) > _LONGEST_SENT:
        sent, _, told = sent.partition(b" ")
        trace = restored(told.decode(errors="replace"))
    seq, sent_at = int(number), from_epoch_ms(int(sent) if len(sent) <= _LONGEST_SENT else 0)
    try:
        return Message(seq, sender.decode(), decoded_body(body), sent_at, trace)
    except ValueError as error:  # another program may have written anything
        return Undecodable(seq, sender.decode(errors="backslashreplace"), sent_at, str(error))


def _is_whole(stored: bytes) -> bool:
    """Return whether this is a number of the scripts: digits of ASCII, and not too many."""
    return stored.isdigit() and len(stored) <= _LONGEST_NUMBER


def _damaged(unit: Unit, epoch: bytes, top: bytes, floor: bytes, cursor: bytes) -> DecodeError:
    """Return the error that names what another program has damaged."""
    for name, stored in (("epoch", epoch or b"0"), ("top", top), ("floor", floor)):
        if not _is_whole(stored):
            return DecodeError(f"field {name} of {keys.meta(unit)}", f"{stored[:40]!r}")
    if int(floor) > int(top) + 1:
        return DecodeError(f"field floor of {keys.meta(unit)}", f"it is {floor!r}, top is {top!r}")
    return DecodeError(f"a score of {keys.cursors(unit)}", f"it is {cursor[:40]!r}, top is {top!r}")
