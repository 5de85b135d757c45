"""Messages as people and as scripts read them."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from ... import Message
from ..instants import utc
from ..output import stranger
from .place import Post

LONGEST: Final = 280
"""Characters of a text that are shown; JSON has it whole."""


def post_line(post: Post) -> str:
    """One message on a line."""
    return f"{utc(post.sent_at)}  {post.seq:>5}  {post.sender}: {_told(post).plain}"


def posts_table(posts: Iterable[Post]) -> Table:
    """Some messages; long ones are folded under themselves."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold", max_width=20)
    table.add_column(overflow="fold")
    for post in posts:
        table.add_row(f"{post.seq:,}", utc(post.sent_at), stranger(post.sender), _told(post))
    return table


def post_fields(post: Post) -> dict[str, Any]:
    """One message for JSON; bytes are base64, under a name of their own."""
    fields: dict[str, Any] = {"seq": post.seq, "sender": post.sender, "sent_at": post.sent_at}
    if not isinstance(post, Message):
        return fields | {"undecodable": post.reason}
    if isinstance(post.body, bytes):
        return fields | {"base64": b64encode(post.body).decode()}
    return fields | {"body": post.body}


def _told(post: Post) -> Text:
    """Its text, cut if it is long."""
    if not isinstance(post, Message):
        return stranger(f"(unreadable: {post.reason})", "red")
    if isinstance(post.body, bytes):
        return Text(f"({len(post.body):,} bytes)", "dim")
    text = post.body if isinstance(post.body, str) else json.dumps(post.body, ensure_ascii=False)
    return stranger(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
