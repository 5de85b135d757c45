"""Batches and messages as JSON, and positions as text."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from .. import Batch, Gap, Message, Position, Undecodable
from .problems import Problem

OCTETS: Final = "application/octet-stream"

_POSITION: Final = re.compile(r"([0-9]{1,16}):([0-9]{1,16})(?::([0-9]{1,19}))?")

_PICTURES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""Pictures that hold no scripts, by their first bytes. What a sender claims is not believed."""


class Packed(msgspec.Struct, forbid_unknown_fields=True):
    """Bytes in JSON."""

    base64: str


class Content(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A message in JSON: its body, or its bytes."""

    body: Any = msgspec.UNSET
    bytes: Packed | msgspec.UnsetType = msgspec.UNSET

    def content(self) -> Any:
        """What is to be sent.

        Raises:
            Problem: both are given, or none, or no base64.
        """
        packed = self.bytes
        if isinstance(packed, msgspec.UnsetType) == (self.body is msgspec.UNSET):
            raise Problem("bad-request", "a message has either a body or bytes")
        return self.body if isinstance(packed, msgspec.UnsetType) else _unpacked(packed.base64)


def media_type(data: bytes) -> str:
    """What bytes are, if it is safe to show them; anything else is only to be kept."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((media for start, media in _PICTURES if data.startswith(start)), OCTETS)


def instant(at: datetime | None) -> str | None:
    """ISO 8601, in UTC, to the millisecond."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def message_json(message: Message | Undecodable) -> dict[str, Any]:
    """One message: with a `body`, with `bytes`, or with the reason why it is `undecodable`."""
    fields: dict[str, Any] = {"seq": message.seq, "sender": message.sender}
    fields["sent_at"] = instant(message.sent_at)
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
    """Several, in their order."""
    return [message_json(message) for message in messages]


def batch_json(batch: Batch) -> dict[str, Any]:
    """What is new, what is missing, and the position that acknowledges it, if it is anything."""
    return {
        "messages": messages_json(batch.messages),
        "gap": gap_json(batch.gap),
        "position": position_text(batch.position) if batch else None,
    }


def gap_json(gap: Gap | None) -> dict[str, Any] | None:
    """What is missing; None: nothing."""
    return None if gap is None else {"first": gap.first, "last": gap.last, "reason": gap.reason}


def position_text(position: Position) -> str:
    """Return a position as clients keep it."""
    parts = (position.epoch, position.seq, position.sent_ms)
    return ":".join(str(part) for part in parts if part is not None)


def position(text: str) -> Position:
    """Return the position of a text; one of an older version does not say when it was sent.

    Raises:
        Problem: it is none.
    """
    found = _POSITION.fullmatch(text)
    if found is None:
        raise Problem("bad-request", f"a position is kept as a batch has it, not {text[:60]!r}")
    epoch, seq, sent_ms = found.groups()
    return Position(int(epoch), int(seq), None if sent_ms is None else int(sent_ms))


def acknowledging(source: str, text: str) -> Batch:
    """A batch that ends at a position: what the client has, and acknowledges."""
    epoch, seq, sent_ms = msgspec.structs.astuple(position(text))
    return Batch(source, (), None, epoch, seq, sent_ms)


def _unpacked(packed: str) -> bytes:
    try:
        return b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        raise Problem("bad-request", "the bytes are not in base64") from None
