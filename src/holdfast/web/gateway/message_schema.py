"""Convert messages, batches and positions to JSON and back."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from datetime import datetime
from typing import Any, Final

import msgspec

from ... import Batch, Gap, Message, Position, Undecodable
from ...inspect.formats import iso
from ..problems import Problem

OCTETS: Final = "application/octet-stream"

_POSITION: Final = re.compile(r"([0-9]{1,16}):([0-9]{1,16})(?::([0-9]{1,19}))?")

_PICTURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""The first bytes of each picture format that cannot contain scripts, and its media type. The
gateway ignores the type that a sender claims."""


class Base64Bytes(msgspec.Struct, forbid_unknown_fields=True):
    """Represent bytes in JSON."""

    base64: str


class MessageContent(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Represent a message in JSON, with either a `body` (any JSON value) or `bytes`."""

    body: Any = msgspec.UNSET
    bytes: Base64Bytes | msgspec.UnsetType = msgspec.UNSET

    def content(self) -> Any:
        """Return the body or the bytes.

        Raises:
            Problem: the client sent both or neither, or the bytes are not base64.
        """
        packed = self.bytes
        if isinstance(packed, msgspec.UnsetType) == (self.body is msgspec.UNSET):
            raise Problem("bad-request", "a message has either a body or bytes")
        return self.body if isinstance(packed, msgspec.UnsetType) else _decoded(packed.base64)


def media_type(data: bytes) -> str:
    """Return the media type if *data* is a picture that is safe to show, and `OCTETS` otherwise."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media for start, media in _PICTURES if data.startswith(start)), OCTETS)


def iso_time(at: datetime | None) -> str | None:
    """Return *at* as ISO 8601 in UTC with milliseconds, or None."""
    return None if at is None else iso(at)


def message_json(message: Message | Undecodable) -> dict[str, Any]:
    """Return *message* as JSON. It has either `body`, `bytes`, or `undecodable` with a reason."""
    fields: dict[str, Any] = {"seq": message.seq, "sender": message.sender}
    fields["sent_at"] = iso_time(message.sent_at)
    if isinstance(message, Message) and message.trace is not None:
        fields["trace"] = message.trace
    match message:
        case Undecodable():
            return {**fields, "undecodable": message.reason}
        case Message(body=bytes(data)):
            packed = {"base64": b64encode(data).decode(), "type": media_type(data)}
            return {**fields, "bytes": packed}
    return {**fields, "body": message.body}


def messages_json(messages: tuple[Message | Undecodable, ...] | list[Any]) -> list[dict[str, Any]]:
    """Return *messages* as JSON."""
    return [message_json(message) for message in messages]


def batch_json(batch: Batch) -> dict[str, Any]:
    """Return *batch* as JSON. Its `position` acknowledges the batch; None if the batch is empty."""
    return {
        "messages": messages_json(batch.messages),
        "gap": gap_json(batch.gap),
        "position": position_text(batch.position) if batch else None,
    }


def gap_json(gap: Gap | None) -> dict[str, Any] | None:
    """Return *gap*, a range of missing messages, as JSON; None if no message is missing."""
    return None if gap is None else {"first": gap.first, "last": gap.last, "reason": gap.reason}


def position_text(position: Position) -> str:
    """Return *position* as text, `EPOCH:SEQ` or `EPOCH:SEQ:SENT_MS`, for clients to store."""
    parts = (position.epoch, position.seq, position.sent_ms)
    return ":".join(str(part) for part in parts if part is not None)


def parse_position(text: str) -> Position:
    """Return the position in *text*. Positions of older versions have no time.

    Raises:
        Problem: *text* is not a position.
    """
    found = _POSITION.fullmatch(text)
    if found is None:
        raise Problem("bad-request", f"send a position as it came in a batch, not {text[:60]!r}")
    epoch, seq, sent_ms = found.groups()
    return Position(int(epoch), int(seq), None if sent_ms is None else int(sent_ms))


def acknowledging(source: str, text: str) -> Batch:
    """Return an empty batch of *source* that ends at the position in *text*.

    Acknowledge this batch to acknowledge all messages up to the position.
    """
    epoch, seq, sent_ms = msgspec.structs.astuple(parse_position(text))
    return Batch(source, (), None, epoch, seq, sent_ms)


def _decoded(packed: str) -> bytes:
    try:
        return b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        raise Problem("bad-request", "the bytes are not in base64") from None
