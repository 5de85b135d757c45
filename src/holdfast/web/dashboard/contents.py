"""What is in messages, as far as it may be shown, and fits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ... import Message, Undecodable
from .look import Look
from .words import size, value

LONGEST: Final = 500
"""Characters of a body."""


def shown(look: Look, messages: Iterable[Message | Undecodable]) -> list[dict[str, Any]]:
    """*messages*, the newest first."""
    found = [
        {
            "seq": message.seq,
            "sender": message.sender,
            "sent_at": message.sent_at,
            "body": _body(message) if look.arguments else None,
            "readable": isinstance(message, Message),
        }
        for message in messages
    ]
    return found[::-1]


def _body(message: Message | Undecodable) -> str:
    if isinstance(message, Undecodable):
        return message.reason
    if isinstance(message.body, bytes):
        return f"({size(len(message.body))} of bytes)"
    text = message.body if isinstance(message.body, str) else value(message.body)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
