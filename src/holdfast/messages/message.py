"""What a reader is given: messages, what cannot be read, what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ..core.clock import from_epoch_ms
from ..core.trace import TraceContext, restored
from .body import decoded_body

_PARTS: Final = 3
"""Of an entry: its id, the sender, the body."""

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
    """

    epoch: int
    seq: int


class Batch(msgspec.Struct, frozen=True):
    """What is new in one mailbox or chat; true if that is anything.

    Attributes:
        source: the name of the mailbox, or the id of the chat.
        messages: in order, the oldest first.
        gap: what is missing before them; None: nothing.
        epoch: the incarnation of the mailbox or chat; 0: there is none, or it does not matter.
        upto: the number up to which acknowledging this acknowledges.
    """

    source: str
    messages: tuple[Message | Undecodable, ...]
    gap: Gap | None
    epoch: int
    upto: int

    @property
    def position(self) -> Position:
        """Where it ends."""
        return Position(self.epoch, self.upto)

    def __bool__(self) -> bool:
        return bool(self.messages or self.gap)


class Row(NamedTuple):
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
    """

    epoch: int
    top: int
    floor: int
    cursor: int | None
    oldest_ms: float | None
    entries: Sequence[Any]

    @classmethod
    def of(cls, reply: Sequence[Any]) -> Row:
        """The row of a reply."""
        epoch, top, floor, cursor, oldest, entries = reply
        return cls(
            int(epoch or 0),
            int(top),
            int(floor),
            int(float(cursor)) if cursor else None,
            float(oldest) if oldest else None,
            entries,
        )

    def first(self, limit: int) -> Row:
        """The same with so many entries at most."""
        most = _PARTS * limit
        return self if len(self.entries) <= most else self._replace(entries=self.entries[:most])

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


def batch_of(source: str, row: Row, reset: Gap | None) -> Batch:
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
    return Batch(source, whole, reset or gap, row.epoch, upto)


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
