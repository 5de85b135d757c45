"""Mailboxes as a resource."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.text import Text

from ...inspect.formats import distance, instant
from ..resources import Resource, Row

if TYPE_CHECKING:
    from ... import MailboxStatus

OVERFLOW: Final = {
    "reject": "more are refused",
    "drop_oldest": "for more, the oldest are dropped",
}


def mailbox_rows(status: MailboxStatus) -> Iterator[Row]:
    """Return what `show` prints."""
    yield "unread", f"{status.unread:,}"
    yield "oldest", instant(status.oldest_at) if status.oldest_at else "-"
    yield "last read", instant(status.last_seen_at) if status.last_seen_at else "never"
    yield "capacity", f"{status.capacity:,} unread; {OVERFLOW[status.overflow]}"
    yield "dropped", f"{status.dropped:,}"


def _unread(status: MailboxStatus) -> Text:
    return Text(f"{status.unread:,}", "red" if status.unread >= status.capacity else "")


MAILBOXES: Final = Resource["MailboxStatus"](
    noun="mailbox",
    plural="mailboxes",
    key="mailbox",
    names=lambda hf: hf.mailboxes(),
    read=lambda hf, name: hf.mailbox(name).status(),
    columns={
        "unread": _unread,
        "capacity": lambda status: f"{status.capacity:,}",
        "oldest": lambda status: distance(status.oldest_at) if status.oldest_at else "-",
        "last read": lambda status: (
            distance(status.last_seen_at) if status.last_seen_at else "never"
        ),
    },
    rows=mailbox_rows,
)
