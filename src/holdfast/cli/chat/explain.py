"""`holdfast chat explain`: who holds messages back, what that costs, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table
from rich.text import Text

from ... import Chat
from ...inspect.formats import counted, distance, instant, size
from ..connection import with_client
from ..output import AsJson, field_table, print_block, print_json, untrusted
from .chats import MAILBOXES, ChatSummary, mailbox_rows, member_table
from .conversation import IsMailbox, Name, conversation

if TYPE_CHECKING:
    from ... import Holdfast, MailboxStatus, Reader

NAMED: Final = 5
"""How many members to name. `--json` prints all."""


@with_client()
def explain(hf: Holdfast, name: Name, mailbox: IsMailbox = False, as_json: AsJson = False) -> None:
    """Explain which members hold messages back, the cost, and what to do.

    With --mailbox: whether its owner reads it, and what happens if not.
    """
    with conversation(hf, name, mailbox=mailbox) as found:
        source = found.source
        report: ChatRetention | MailboxBacklog = (
            ChatRetention.read(source)
            if isinstance(source, Chat)
            else MailboxBacklog(name, source.status())
        )
    if as_json:
        print_json(report.as_json())
        return
    print_block(field_table(report.rows()))
    print_block(Text())
    for line in report.advice():
        print_block(untrusted(line))


@dataclass(frozen=True, slots=True)
class ChatRetention:
    """Describes the messages that a chat keeps because members have not read them.

    Attributes:
        chat: the state of the chat.
        since: when the oldest of these messages was sent; None if there are none.
    """

    chat: ChatSummary
    since: datetime | None

    @classmethod
    def read(cls, chat: Chat) -> ChatRetention:
        """Read the state of *chat*, and the oldest message that it keeps for slow members."""
        found = cls(ChatSummary.read(chat), None)
        if not found.holders:
            return found
        first = max(found.holders[0].read_seq + 1, found.chat.status.first_seq)
        oldest = chat.history(before=first + 1, limit=1)
        return cls(found.chat, oldest[-1].sent_at if oldest else None)

    @property
    def holders(self) -> list[Reader]:
        """Return the members that hold messages back, the one furthest behind first."""
        return [reader for reader in self.chat.status.behind if reader.holds_back]

    @property
    def losers(self) -> list[Reader]:
        """Return the members that have missed messages which are not kept any more."""
        status = self.chat.status
        return [each for each in status.behind if each.read_seq < status.first_seq - 1]

    @property
    def held_back(self) -> int:
        """Return how many messages are held back."""
        return self.holders[0].unread if self.holders else 0

    @property
    def held_back_bytes(self) -> int:
        """Return about how many bytes the held-back messages take."""
        return self.chat.status.stored_bytes * self.held_back // max(1, self.chat.kept)

    @property
    def held_by_first_only(self) -> int:
        """Return how many messages only the first holder holds back."""
        rest = self.holders[1:2]
        return self.held_back - (rest[0].unread if rest else 0)

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        status = self.chat.status
        return {
            "chat": self.chat.chat_id,
            "keep": status.keep,
            "idle_ttl": status.idle_ttl if self.chat.until_read else None,
            "held_back": self.held_back,
            "held_back_bytes": self.held_back_bytes,
            "since": self.since,
            "held_by": list(map(asdict, self.holders)),
            "missed_by": list(map(asdict, self.losers)),
        }

    def rows(self) -> Iterator[tuple[str, str | Table]]:
        """Return the names and values that the command prints."""
        status, kept = self.chat.status, counted(self.chat.kept, "message")
        yield "chat", self.chat.chat_id
        yield "keeps", self.chat.policy
        yield "has", f"{kept}, about {size(status.stored_bytes)}"
        if self.holders:
            held_back = counted(self.held_back, "message")
            yield "held back", f"{held_back}, about {size(self.held_back_bytes)}"
            yield "since", instant(self.since) if self.since else "just now"
            yield "by", member_table(self.holders[:NAMED], seen=True)
        else:
            yield "held back", "nothing"
        if len(self.holders) > NAMED:
            yield "", f"and {len(self.holders) - NAMED:,} more"

    def advice(self) -> Iterator[str]:
        """Return sentences that explain the numbers, and say what to do."""
        if self.holders:
            yield from self._how_to_release(self.holders[0])
        elif self.chat.until_read:
            yield "All active members have read everything."
        else:
            yield "Old messages are dropped for new ones, read or not: no member holds any back."
        for each in self.losers[:NAMED]:
            missed = counted(self.chat.status.first_seq - 1 - each.read_seq, "message")
            yield f"{each.user!r} has missed {missed} that are not kept any more."
        if len(self.losers) > NAMED:
            yield f"So have {len(self.losers) - NAMED:,} more members."
        if self.losers:
            more = "a longer idle_ttl" if self.chat.until_read else "a larger keep"
            yield f"For members who read so rarely: redefine the chat with {more}."

    def _how_to_release(self, first: Reader) -> Iterator[str]:
        name = first.user
        alike = sum(each.read_seq == first.read_seq for each in self.holders)
        if alike > 1:
            yield f"They are kept for {alike:,} members who have read no further than {name!r}."
        else:
            messages = counted(self.held_by_first_only, "message")
            yield f"{messages} of these are kept for {name!r} alone."
        when = f", or {distance(first.lets_go_at)} if it stays silent" if first.lets_go_at else ""
        yield f"They are dropped when {name!r} reads or leaves{when}."
        yield (
            "To keep less: a shorter idle_ttl, or a number to keep, "
            f"as in hf.chat({self.chat.chat_id!r}).redefine(keep=1_000)."
        )


@dataclass(frozen=True, slots=True)
class MailboxBacklog:
    """Describes the messages that the owner of a mailbox has not read."""

    name: str
    status: MailboxStatus

    @property
    def room(self) -> int:
        """Return how many more messages the mailbox takes."""
        return max(0, self.status.capacity - self.status.unread)

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {**MAILBOXES.json_of(self.name, self.status), "left": self.room}

    def rows(self) -> Iterator[tuple[str, str | Text]]:
        """Return the names and values that the command prints."""
        yield "mailbox", self.name
        yield from mailbox_rows(self.status)

    def advice(self) -> Iterator[str]:
        """Return sentences that explain the numbers, and say what to do."""
        if self.room:
            fit = "fits" if self.room == 1 else "fit"
            yield f"{counted(self.room, 'more message')} {fit} in."
        elif self.status.overflow == "reject":
            yield "It is full: senders get MailboxFull until something is read."
        else:
            yield "It is full: with each new message the oldest one is lost."
        if self.status.unread:
            yield (
                "Read messages take no room: let its owner acknowledge, or give it more, "
                f"as in hf.mailbox({self.name!r}).redefine(capacity=…)."
            )
