"""Messages as text and as JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from ... import Message
from ...inspect.formats import counted, utc
from ..output import untrusted
from .conversation import AnyMessage

LONGEST: Final = 280
"""Characters of a text that are shown; `--json` has it whole."""


def message_line(message: AnyMessage) -> str:
    """Return one message on a line."""
    head = f"{utc(message.sent_at)}  {message.seq:>5}  {message.sender}"
    return f"{head}: {_body(message).plain}"


def message_table(messages: Iterable[AnyMessage]) -> Table:
    """Return messages in a table; long ones are folded under themselves."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold", max_width=20)
    table.add_column(overflow="fold")
    for each in messages:
        table.add_row(f"{each.seq:,}", utc(each.sent_at), untrusted(each.sender), _body(each))
    return table


def message_json(message: AnyMessage) -> dict[str, Any]:
    """Return the JSON of one message; bytes are base64, under a name of their own."""
    fields: dict[str, Any] = {
        "seq": message.seq,
        "sender": message.sender,
        "sent_at": message.sent_at,
    }
    if not isinstance(message, Message):
        return fields | {"undecodable": message.reason}
    if isinstance(message.body, bytes):
        return fields | {"base64": b64encode(message.body).decode()}
    return fields | {"body": message.body}


def _body(message: AnyMessage) -> Text:
    """Return its text, cut if it is long."""
    if not isinstance(message, Message):
        return untrusted(f"(unreadable: {message.reason})", "red")
    body = message.body
    if isinstance(body, bytes):
        return Text(f"({counted(len(body), 'byte')})", "dim")
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return untrusted(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
