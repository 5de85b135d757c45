"""Chats as people and as scripts see them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from ... import NoSuchChat
from ..instants import distance, duration, instant
from ..output import size, stranger

if TYPE_CHECKING:
    from ... import Chat, ChatStatus, Holdfast, Reader

NAME_COLUMNS: Final = 32
"""What is left for names on a screen of 80 columns."""

READERS: Final = 1_000
"""Members that the server tells at most: those furthest behind."""


@dataclass(frozen=True, slots=True)
class ChatStanding:
    """One chat at one moment.

    Attributes:
        newest_at: when its newest message was sent; None: none is kept.
    """

    chat_id: str
    status: ChatStatus
    newest_at: datetime | None

    @classmethod
    def of(cls, chat: Chat, *, readers: int = READERS) -> ChatStanding:
        """With so many of its members, those furthest behind."""
        status, newest = chat.status(limit=readers), chat.history(limit=1)
        return cls(chat.chat_id, status, newest[-1].sent_at if newest else None)

    @classmethod
    def all(cls, hf: Holdfast) -> Iterator[ChatStanding]:
        """Those that the server lists, by name."""
        for chat_id in sorted(hf.chats()):
            try:
                yield cls.of(hf.chat(chat_id), readers=1)
            except NoSuchChat:  # it has ended meanwhile
                continue

    @property
    def kept(self) -> int:
        """Messages."""
        return max(0, self.status.last_seq - self.status.first_seq + 1)

    @property
    def until_read(self) -> bool:
        """Whether it keeps messages until they are read."""
        return self.status.keep == "until_read"

    @property
    def policy(self) -> str:
        """What it keeps, in words."""
        if self.until_read:
            return f"until read by all who were here in the last {duration(self.status.idle_ttl)}"
        return f"the newest {self.status.keep:,}, read or not"

    def as_json(self) -> dict[str, Any]:
        """For scripts; without its members."""
        fields = asdict(self.status)
        del fields["behind"]
        return {"chat": self.chat_id, "messages": self.kept, "newest_at": self.newest_at, **fields}

    def rows(self) -> Iterator[tuple[str, str]]:
        """For people."""
        status = self.status
        yield "chat", self.chat_id
        yield "begun", instant(status.created_at)
        yield "newest", instant(self.newest_at) if self.newest_at else "-"
        numbers = f", numbers {status.first_seq:,} to {status.last_seq:,}" if self.kept else ""
        yield "messages", f"{self.kept:,}{numbers}"
        yield "memory", f"about {size(status.stored_bytes)}"
        yield "kept", self.policy
        yield "members", f"{status.members:,}"

    @staticmethod
    def table(found: Iterable[ChatStanding]) -> Table:
        """A chat on each line."""
        table = Table(box=None, header_style="bold", pad_edge=False)
        table.add_column("chat", overflow="fold", max_width=NAME_COLUMNS)
        for column in ("members", "messages", "memory", "newest"):
            table.add_column(column, justify="right", no_wrap=True)
        for each in found:
            status, newest_at = each.status, each.newest_at
            table.add_row(
                stranger(each.chat_id),
                f"{status.members:,}",
                f"{each.kept:,}",
                size(status.stored_bytes),
                distance(newest_at) if newest_at else "-",
            )
        return table


def readers_table(readers: Iterable[Reader], *, seen: bool) -> Table:
    """A member on each line; if *seen*, with when it was last seen, which not all chats note."""
    table = Table(box=None, header_style="dim", pad_edge=False)
    table.add_column("member", overflow="fold", max_width=NAME_COLUMNS)
    for column in ("has read", "unread", "last seen")[: 3 if seen else 2]:
        table.add_column(column, justify="right", no_wrap=True)
    for each in readers:
        unread = Text(f"{each.unread:,}", "yellow" if each.holds_back else "")
        cells = [stranger(each.user), Text(f"{each.read_seq:,}"), unread]
        if seen:
            cells.append(Text(distance(each.last_seen_at) if each.last_seen_at else "never"))
        table.add_row(*cells)
    return table
