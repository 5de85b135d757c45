"""Mailboxes as people and as scripts see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from ..instants import distance, instant
from ..output import stranger

if TYPE_CHECKING:
    from ... import Holdfast, MailboxStatus

NAME_COLUMNS: Final = 32
"""What is left for names on a screen of 80 columns."""

OVERFLOW: Final = {
    "reject": "more are refused",
    "drop_oldest": "for more, the oldest are dropped",
}


@dataclass(frozen=True, slots=True)
class MailboxStanding:
    """One mailbox at one moment."""

    name: str
    status: MailboxStatus

    @classmethod
    def all(cls, hf: Holdfast) -> Iterator[MailboxStanding]:
        """Those that the server lists, by name."""
        for name in sorted(hf.mailboxes()):
            yield cls(name, hf.mailbox(name).status())

    @property
    def oldest(self) -> str:
        """How long the oldest unread message has been there."""
        return distance(self.status.oldest_at) if self.status.oldest_at else "-"

    @property
    def seen(self) -> str:
        """When it was last read."""
        return distance(self.status.last_seen_at) if self.status.last_seen_at else "never"

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {"mailbox": self.name, **asdict(self.status)}

    def rows(self) -> Iterator[tuple[str, str]]:
        """For people."""
        status = self.status
        yield "mailbox", self.name
        yield "unread", f"{status.unread:,}"
        yield "oldest", instant(status.oldest_at) if status.oldest_at else "-"
        yield "last read", instant(status.last_seen_at) if status.last_seen_at else "never"
        yield "capacity", f"{status.capacity:,} unread; {OVERFLOW[status.overflow]}"
        yield "dropped", f"{status.dropped:,}"

    @staticmethod
    def table(found: Iterable[MailboxStanding]) -> Table:
        """A mailbox on each line."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("mailbox", overflow="fold", max_width=NAME_COLUMNS)
        for column in ("unread", "capacity", "oldest", "last read"):
            table.add_column(column, justify="right", no_wrap=True)
        for each in found:
            full = each.status.unread >= each.status.capacity
            unread = Text(f"{each.status.unread:,}", "red" if full else "")
            capacity = f"{each.status.capacity:,}"
            table.add_row(stranger(each.name), unread, capacity, each.oldest, each.seen)
        return table
