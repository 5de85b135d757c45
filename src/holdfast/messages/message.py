"""Define messages, batches, gaps and positions, and parse the replies to fetches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

from ..core.clock import from_epoch_ms
from ..core.gap import Gap
from ..core.names import Unit
from ..core.trace import TraceContext, restored
from ..errors import DecodeError
from . import keys
from .body import JSON_TAG, SHALLOW_BYTES, decoded_body, decoded_json

_from_timestamp: Final = datetime.fromtimestamp

_PARTS: Final = 3
"""Number of values for each entry in a reply: id, sender and body."""

_HEADER: Final = 3
"""Number of values before the entries of a log in a reply: number of the log, header, number of
entries."""

_MAX_NUMBER_DIGITS: Final = 16
"""Number of digits of the largest integer that Lua represents exactly."""

_LEAST_INEXACT: Final = 10**_MAX_NUMBER_DIGITS

_MAX_SENT_DIGITS: Final = 14
"""Maximum number of digits of the milliseconds in an id. A longer text also contains the trace."""


class Message(msgspec.Struct, frozen=True):
    """Hold one message.

    Attributes:
        seq: number of the message. Numbers begin at 1, and none is skipped.
        sender: name of the sender.
        body: a JSON value, or bytes.
        sent_at: when the message was sent, by the server's clock.
        trace: the trace context in which the message was sent; None: unknown.
    """

    seq: int
    sender: str
    body: Any
    sent_at: datetime
    trace: TraceContext | None = None


class Undecodable(msgspec.Struct, frozen=True):
    """Stand for a message with a body that cannot be decoded. Acknowledge it like any message.

    It has the attributes of a `Message`. Its body is None, so that a program that only reads
    `message.body` continues. Use `isinstance(message, Undecodable)` to distinguish it from a
    message with the body null.

    Attributes:
        seq: number of the message.
        sender: name of the sender, as far as it can be decoded.
        sent_at: when the message was sent; 1970 if this cannot be decoded.
        reason: why the body cannot be decoded.
    """

    seq: int
    sender: str
    sent_at: datetime
    reason: str

    @property
    def body(self) -> None:
        """Return None, because the body cannot be decoded."""
        return None

    @property
    def trace(self) -> None:
        """Return None, because the trace of a damaged message is not used."""
        return None


class Position(msgspec.Struct, frozen=True):
    """Hold how far one device has read one mailbox or chat. `fetch(after=…)` continues there.

    Attributes:
        epoch: when the mailbox or chat was created (us); 0: it did not exist, so the device has no
            messages.
        seq: number of the last message that the device has.
        sent_ms: when this message was sent (ms since 1970). It distinguishes the message from one
            that got the same number after the server lost messages. None: unknown, so `fetch`
            treats all messages of the device as lost.
    """

    epoch: int
    seq: int
    sent_ms: int | None = None


class Batch(msgspec.Struct, frozen=True):
    """Hold the new messages of one mailbox or chat. A batch is true if it has a message or a gap.

    Attributes:
        source: name of the mailbox, or id of the chat.
        messages: the messages, the oldest first.
        gap: the messages that are missing before `messages`; None: no message is missing.
        epoch: when the mailbox or chat was created (us); 0: it does not exist, or `ack` does not
            check it.
        upto: number of the last message that `ack` acknowledges.
        upto_ms: when this message was sent (ms since 1970); None: unknown. `ack` refuses the batch
            if another message has the number now.
    """

    source: str
    messages: tuple[Message | Undecodable, ...]
    gap: Gap | None
    epoch: int
    upto: int
    upto_ms: int | None = None

    @property
    def position(self) -> Position:
        """Return the position after the batch."""
        return Position(self.epoch, self.upto, self.upto_ms)

    def __bool__(self) -> bool:
        return bool(self.messages or self.gap)


class FetchReply(NamedTuple):
    """Hold the reply of `fetch.lua` for one log.

    Attributes:
        epoch: when the log was created (us); 0: it does not exist.
        top: number of the newest message.
        floor: number of the oldest message that is kept.
        cursor: number of the last message that the reader acknowledged, or that its device has;
            None: the user is not a reader of this log.
        oldest_ms: when the oldest unread message was sent; None: there is no unread message.
        entries: id (followed by the trace), sender and body of the unread messages, as many as the
            limits of the call allow.
        top_ms: when the newest message was sent; None: unknown, or there are entries.
        holds_seen: whether the position that was sent is valid, so that no message was lost.
        state: the state of a log without new messages, as text that the client sends in its next
            request (see `chat_state.py`); empty: unknown.
    """

    epoch: int
    top: int
    floor: int
    cursor: int | None
    oldest_ms: float | None
    entries: Sequence[Any]
    top_ms: int | None
    holds_seen: bool
    state: str = ""

    @classmethod
    def of(cls, unit: Unit, header: bytes, entries: Sequence[Any]) -> FetchReply:
        """Parse the *header* for *unit* in a reply of the server.

        Raises:
            DecodeError: the metadata of the log is damaged.
        """
        if b" " not in header:
            return cls._of_state(unit, header)
        epoch, top, floor, cursor, oldest, top_ms, valid = header.split(b" ")
        stored = epoch + top + floor + cursor
        if not (stored.isdigit() and top and floor and len(stored) <= 4 * _MAX_NUMBER_DIGITS):
            raise _damaged(unit, epoch, top, floor, cursor)
        found = cls(
            int(epoch or 0),
            int(top),
            int(floor),
            int(cursor) if cursor else None,
            float(oldest) if oldest else None,
            entries,
            int(top_ms) if top_ms and len(top_ms) <= _MAX_SENT_DIGITS else None,
            valid == b"1",
        )
        if (
            found.floor > found.top + 1
            or (found.cursor or 0) > found.top
            or found.top >= _LEAST_INEXACT
            or found.epoch >= _LEAST_INEXACT
        ):
            raise _damaged(unit, epoch, top, floor, cursor)
        return found

    @classmethod
    def _of_state(cls, unit: Unit, state: bytes) -> FetchReply:
        """Return the reply for a log without new messages, from its *state*."""
        epoch = state.partition(b":")[0]
        if not _is_whole(epoch):
            raise _damaged(unit, epoch, b"0", b"0", b"0")
        text = state.decode(errors="replace")
        return cls(int(epoch), 0, 1, 0, None, (), None, holds_seen=True, state=text)

    def first(self, limit: int) -> FetchReply:
        """Return the reply with only its first *limit* messages."""
        most = _PARTS * limit
        return self if len(self.entries) <= most else self._replace(entries=self.entries[:most])

    @property
    def position(self) -> Position:
        """Return the position of the last message that is acknowledged or dropped."""
        seq = min(self.top, self.read_seq)
        return Position(self.epoch, seq, self.top_ms if seq == self.top else None)

    @property
    def is_cut(self) -> bool:
        """Return whether the reply has none of the unread messages, because of its limits."""
        return self.oldest_ms is not None and not self.entries and self.unread > 0

    @property
    def is_read(self) -> bool:
        """Return whether the reader has acknowledged all messages."""
        return self.cursor is not None and self.cursor >= self.top

    @property
    def read_seq(self) -> int:
        """Return the number of the last message that is acknowledged or dropped."""
        return max(self.cursor or 0, self.floor - 1)

    @property
    def unread(self) -> int:
        """Return how many messages the reader can still fetch."""
        return 0 if self.cursor is None else max(0, self.top - self.read_seq)


class InboxResult(NamedTuple):
    """Hold the result of reading several chats.

    Attributes:
        batches: the new messages, a batch for each chat with new messages.
        more: the chats that have more new messages than their batches contain.
        damaged: chat that cannot be decoded → error.
    """

    batches: list[Batch]
    more: set[str]
    damaged: Mapping[str, DecodeError]

    def checked(self) -> list[Batch]:
        """Return the batches.

        Raises:
            DecodeError: a chat is damaged, and no other chat has new messages.
        """
        if self.damaged and not self.batches:
            raise next(iter(self.damaged.values()))
        return self.batches


def reported(reply: Sequence[Any]) -> Iterator[tuple[int, bytes, Sequence[Any]]]:
    """Yield number, header and entries of each log in a *reply* of `fetch.lua`."""
    i, end = 0, len(reply)
    while i < end:
        first = i + _HEADER
        after = first + _PARTS * reply[i + 2]
        yield reply[i], reply[i + 1], reply[first:after]
        i = after


def batch_of(source: str, reply: FetchReply, lost: Gap | None) -> Batch:
    """Return the batch with the new messages in a reply.

    Args:
        source: name of the mailbox, or id of the chat.
        reply: the reply.
        lost: the messages that the server has lost since the last request; None: no message.
    """
    messages, cursor = messages_of(reply.entries), reply.cursor or 0
    if messages:
        first = messages[0].seq
    elif reply.oldest_ms is None and reply.unread:
        first = reply.top + 1  # the unread messages are missing in the log
    else:
        first = reply.floor
    gap = Gap(cursor + 1, first - 1, "dropped") if first > cursor + 1 else None
    whole = _without_holes(messages)
    upto = whole[-1].seq if whole else max(cursor, first - 1)
    if whole:
        sent = reply.entries[_PARTS * (len(whole) - 1)].partition(b" ")[0].rpartition(b"-")[2]
        upto_ms: int | None = int(sent)
    else:
        upto_ms = reply.top_ms if upto == reply.top else None
    return Batch(source, whole, lost or gap, reply.epoch, upto, upto_ms)


def messages_of(entries: Sequence[Any]) -> tuple[Message | Undecodable, ...]:
    """Return the messages in *entries*: id, sender and body of each message, in a flat list."""
    # Decode usual messages here, with few function calls, because a fetch may return a thousand.
    # `_message` decodes the others: those with a trace, and damaged ones.
    senders: dict[bytes, str] = {}
    found: list[Message | Undecodable] = []
    values = iter(entries)
    for name, sender, body in zip(values, values, values, strict=True):
        number, _, sent = name.partition(b"-")
        try:
            known = senders.get(sender)
            if known is None:
                known = senders[sender] = sender.decode()
            if len(body) <= SHALLOW_BYTES and body[:1] == JSON_TAG:
                value = decoded_json(body[1:])
            else:
                value = decoded_body(body)
        except ValueError:
            found.append(_message(name, sender, body))
            continue
        if len(sent) <= _MAX_SENT_DIGITS:
            sent_at = _from_timestamp(int(sent) / 1000, UTC)
            found.append(Message(int(number), known, value, sent_at))
        else:
            found.append(_message(name, sender, body))
    return tuple(found)


def traces_of(batches: Iterable[Batch]) -> Iterator[TraceContext]:
    """Yield the trace contexts of the messages that have one."""
    for batch in batches:
        for message in batch.messages:
            if isinstance(message, Message) and message.trace is not None:
                yield message.trace


def _without_holes(
    messages: tuple[Message | Undecodable, ...],
) -> tuple[Message | Undecodable, ...]:
    """Return the messages before the first missing number. The next batch will report the gap."""
    if not messages or messages[-1].seq - messages[0].seq == len(messages) - 1:
        return messages
    for i, message in enumerate(messages):
        if message.seq != messages[0].seq + i:
            return messages[:i]
    return messages


def _message(name: bytes, sender: bytes, body: bytes) -> Message | Undecodable:
    number, _, sent = name.partition(b"-")
    trace = None
    if len(sent) > _MAX_SENT_DIGITS:
        sent, _, stored_trace = sent.partition(b" ")
        trace = restored(stored_trace.decode(errors="replace"))
    seq, sent_at = int(number), from_epoch_ms(int(sent) if len(sent) <= _MAX_SENT_DIGITS else 0)
    try:
        return Message(seq, sender.decode(), decoded_body(body), sent_at, trace)
    except ValueError as error:  # another program wrote the body, or damaged it
        return Undecodable(seq, sender.decode(errors="backslashreplace"), sent_at, str(error))


def _is_whole(stored: bytes) -> bool:
    """Return whether *stored* is a whole number that Lua represents exactly."""
    return stored.isdigit() and len(stored) <= _MAX_NUMBER_DIGITS


def _damaged(unit: Unit, epoch: bytes, top: bytes, floor: bytes, cursor: bytes) -> DecodeError:
    """Return the error that names the first damaged field."""
    for name, stored in (("epoch", epoch or b"0"), ("top", top), ("floor", floor)):
        if not _is_whole(stored):
            return DecodeError(f"field {name} of {keys.meta(unit)}", f"{stored[:40]!r}")
    if int(floor) > int(top) + 1:
        return DecodeError(f"field floor of {keys.meta(unit)}", f"it is {floor!r}, top is {top!r}")
    return DecodeError(f"a score of {keys.cursors(unit)}", f"it is {cursor[:40]!r}, top is {top!r}")
