"""Prepare the messages of a mailbox or chat for a list on a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ... import Message, Undecodable
from ...inspect.formats import size
from .filters import value
from .page_request import PageRequest

MAX_BODY_LENGTH: Final = 500
"""Characters of a message that the list shows."""


def listed(view: PageRequest, messages: Iterable[Message | Undecodable]) -> list[dict[str, Any]]:
    """Return *messages*, the newest first, without bodies if the dashboard hides arguments."""
    found = [
        {
            "seq": message.seq,
            "sender": message.sender,
            "sent_at": message.sent_at,
            "body": _body(message) if view.arguments else None,
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
    return text if len(text) <= MAX_BODY_LENGTH else f"{text[:MAX_BODY_LENGTH]}…"
