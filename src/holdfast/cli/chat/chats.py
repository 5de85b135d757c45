"""Define chats and mailboxes as resources for `ls` and `show`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from ... import NoSuchChat
from ...inspect.formats import distance, duration, instant, size
from ..output import row_table
from ..resources import Resource, Row

if TYPE_CHECKING:
    from ... import Chat, ChatStatus, Holdfast, MailboxStatus, Reader


READERS: Final = 1_000
"""Members that the server returns at most: those furthest behind."""


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """Holds the state of a chat.

    Attributes:
        chat_id: the id of the chat.
        status: the status of the chat; its members are sorted, those furthest behind first.
        newest_at: when the newest stored message was sent; None if no message is stored.
    """

    chat_id: str
    status: ChatStatus
    newest_at: datetime | None

    @classmethod
    def read(cls, chat: Chat, *, readers: int = READERS) -> ChatSummary:
        """Read the state of *chat*, with at most *readers* members."""
        status, newest = chat.status(limit=readers), chat.history(limit=1)
        return cls(chat.chat_id, status, newest[-1].sent_at if newest else None)

    @property
    def kept(self) -> int:
        """Return the number of messages that the chat stores."""
        return max(0, self.status.last_seq - self.status.first_seq + 1)

    @property
    def until_read(self) -> bool:
        """Return whether the chat keeps messages until all active members have read them."""
        return self.status.keep == "until_read"

    @property
    def policy(self) -> str:
        """Return a phrase about how long the chat keeps messages."""
        if self.until_read:
            return f"until read by all members seen in the last {duration(self.status.idle_ttl)}"
        return f"the newest {self.status.keep:,}, read or not"

    def as_json(self) -> dict[str, Any]:
        """Return the JSON fields of the chat, without its members."""
        fields = asdict(self.status)
        del fields["behind"]
        return {"messages": self.kept, "newest_at": self.newest_at, **fields}

    def rows(self) -> Iterator[Row]:
        """Return the names and values that `show` prints."""
        status = self.status
        yield "created", instant(status.created_at)
        yield "newest", instant(self.newest_at) if self.newest_at else "-"
        numbers = f", numbers {status.first_seq:,} to {status.last_seq:,}" if self.kept else ""
        yield "messages", f"{self.kept:,}{numbers}"
        yield "memory", f"about {size(status.stored_bytes)}"
        yield "kept", self.policy
        yield "members", f"{status.members:,}"


def _read(hf: Holdfast, chat_id: str) -> ChatSummary | None:
    try:
        return ChatSummary.read(hf.chat(chat_id), readers=1)
    except NoSuchChat:  # it was deleted after the names were listed
        return None


CHATS: Final = Resource[ChatSummary](
    noun="chat",
    key="chat",
    names=lambda hf: hf.chats(),
    read=_read,
    columns={
        "members": lambda chat: f"{chat.status.members:,}",
        "messages": lambda chat: f"{chat.kept:,}",
        "memory": lambda chat: size(chat.status.stored_bytes),
        "newest": lambda chat: distance(chat.newest_at) if chat.newest_at else "-",
    },
    as_json=ChatSummary.as_json,
    rows=ChatSummary.rows,
)


def member_table(readers: Iterable[Reader], *, seen: bool) -> Table:
    """Return a table of the members; if *seen*, with the time of their last activity."""

    def cells(each: Reader) -> Iterator[str | Text]:
        yield each.user
        yield f"{each.read_seq:,}"
        yield Text(f"{each.unread:,}", "yellow" if each.holds_back else "")
        if seen:
            yield distance(each.last_seen_at) if each.last_seen_at else "never"

    titles = ("member", "has read", "unread", "last seen")[: 4 if seen else 3]
    return row_table(titles, map(cells, readers), style="dim")


OVERFLOW: Final = {
    "reject": "more are refused",
    "drop_oldest": "for more, the oldest are dropped",
}


def mailbox_rows(status: MailboxStatus) -> Iterator[Row]:
    """Return the names and values that `show` prints."""
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
