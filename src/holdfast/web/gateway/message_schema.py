"""Messages, batches and positions as JSON."""

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
"""The first bytes of picture formats without scripts. The type that a sender claims is ignored."""


class Base64Bytes(msgspec.Struct, forbid_unknown_fields=True):
    """Bytes in JSON."""

    base64: str


class MessageContent(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A message in JSON: its body, or its bytes."""

    body: Any = msgspec.UNSET
    bytes: Base64Bytes | msgspec.UnsetType = msgspec.UNSET

    def content(self) -> Any:
        """Return what is to be sent.

        Raises:
            Problem: both are given, or neither, or the bytes are not base64.
        """
        packed = self.bytes
        if isinstance(packed, msgspec.UnsetType) == (self.body is msgspec.UNSET):
            raise Problem("bad-request", "a message has either a body or bytes")
        return self.body if isinstance(packed, msgspec.UnsetType) else _decoded(packed.base64)


def media_type(data: bytes) -> str:
    """Return the type of a picture that is safe to show; `OCTETS` for all other bytes."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media for start, media in _PICTURES if data.startswith(start)), OCTETS)


def iso_time(at: datetime | None) -> str | None:
    """Return *at* as ISO 8601 in UTC with milliseconds, or None."""
    return None if at is None else iso(at)


def message_json(message: Message | Undecodable) -> dict[str, Any]:
    """Return a message with its `body`, its `bytes`, or the reason why it is `undecodable`."""
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
    """Return several messages in their order."""
    return [message_json(message) for message in messages]


def batch_json(batch: Batch) -> dict[str, Any]:
    """Return the messages, the gap, and the position that acknowledges them (None if empty)."""
    return {
        "messages": messages_json(batch.messages),
        "gap": gap_json(batch.gap),
        "position": position_text(batch.position) if batch else None,
    }


def gap_json(gap: Gap | None) -> dict[str, Any] | None:
    """Return the messages that are missing, or None."""
    return None if gap is None else {"first": gap.first, "last": gap.last, "reason": gap.reason}


def position_text(position: Position) -> str:
    """Return a position as clients keep it."""
    parts = (position.epoch, position.seq, position.sent_ms)
    return ":".join(str(part) for part in parts if part is not None)


def parse_position(text: str) -> Position:
    """Return the position in *text*; one of an older version has no time.

    Raises:
        Problem: *text* is not a position.
    """
    found = _POSITION.fullmatch(text)
    if found is None:
        raise Problem("bad-request", f"send a position as it came in a batch, not {text[:60]!r}")
    epoch, seq, sent_ms = found.groups()
    return Position(int(epoch), int(seq), None if sent_ms is None else int(sent_ms))


def acknowledging(source: str, text: str) -> Batch:
    """Return an empty batch that ends at a position: to acknowledge it acknowledges all before."""
    epoch, seq, sent_ms = msgspec.structs.astuple(parse_position(text))
    return Batch(source, (), None, epoch, seq, sent_ms)


def _decoded(packed: str) -> bytes:
    try:
        return b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        raise Problem("bad-request", "the bytes are not in base64") from None
