"""`holdfast chat explain`: who holds messages back, what that costs, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ... import Mailbox
from ..connection import Embedded, Namespace, Url
from ..instants import distance, instant
from ..output import AsJson, counted, fields, show, show_json, size, stranger
from .chats import ChatStanding, readers_table
from .mailboxes import MailboxStanding
from .place import IsMailbox, Name, opened

if TYPE_CHECKING:
    from ... import Chat, Reader

NAMED = 5
"""Members that are told to people."""


def explain(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    mailbox: IsMailbox = False,
    as_json: AsJson = False,
) -> None:
    """Tell who holds messages back, since when, what that costs, and what to do.

    With --mailbox: whether its owner reads it, and what happens if not.
    """
    with opened(name, url, embedded, namespace, mailbox=mailbox) as place:
        place.expect()
        if isinstance(place.source, Mailbox):
            found: Hold | Backlog = Backlog(MailboxStanding(name, place.source.status()))
        else:
            found = Hold.of(place.source)
    if as_json:
        show_json(found.as_json())
        return
    show(fields(found.rows()))
    show(Text())
    for line in found.advice():
        show(stranger(line))


@dataclass(frozen=True, slots=True)
class Hold:
    """What members who have not read hold back in a chat.

    Attributes:
        standing: of the chat.
        since: when the oldest message that is held back was sent; None: there is none.
    """

    standing: ChatStanding
    since: datetime | None

    @classmethod
    def of(cls, chat: Chat) -> Hold:
        """As it is now."""
        hold = cls(ChatStanding.of(chat), None)
        if not hold.holders:
            return hold
        first = max(hold.holders[0].read_seq + 1, hold.standing.status.first_seq)
        oldest = chat.history(before=first + 1, limit=1)
        return cls(hold.standing, oldest[-1].sent_at if oldest else None)

    @property
    def holders(self) -> list[Reader]:
        """Who holds messages back, the one furthest behind first."""
        return [reader for reader in self.standing.status.behind if reader.holds_back]

    @property
    def losers(self) -> list[Reader]:
        """Who will never get some messages, as these are not kept any more."""
        status = self.standing.status
        return [each for each in status.behind if each.read_seq < status.first_seq - 1]

    @property
    def messages(self) -> int:
        """How many are held back."""
        return self.holders[0].unread if self.holders else 0

    @property
    def octets(self) -> int:
        """What these take, about."""
        standing = self.standing
        return standing.status.stored_bytes * self.messages // max(1, standing.kept)

    @property
    def alone(self) -> int:
        """How many are held back by the first holder, and by nobody else."""
        rest = self.holders[1:2]
        return self.messages - (rest[0].unread if rest else 0)

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        status = self.standing.status
        return {
            "chat": self.standing.chat_id,
            "keep": status.keep,
            "idle_ttl": status.idle_ttl if self.standing.until_read else None,
            "held_back": self.messages,
            "held_back_bytes": self.octets,
            "since": self.since,
            "held_by": list(map(asdict, self.holders)),
            "missed_by": list(map(asdict, self.losers)),
        }

    def rows(self) -> Iterator[tuple[str, str | Table]]:
        """For people."""
        status, kept = self.standing.status, counted(self.standing.kept, "message")
        yield "chat", self.standing.chat_id
        yield "keeps", self.standing.policy
        yield "has", f"{kept}, about {size(status.stored_bytes)}"
        if self.holders:
            yield "held back", f"{counted(self.messages, 'message')}, about {size(self.octets)}"
            yield "since", instant(self.since) if self.since else "just now"
            yield "by", readers_table(self.holders[:NAMED], seen=True)
        else:
            yield "held back", "nothing"
        if len(self.holders) > NAMED:
            yield "", f"and {len(self.holders) - NAMED:,} more"

    def advice(self) -> Iterator[str]:
        """What it means, and what to do, in sentences."""
        if self.holders:
            yield from self._to_be_rid_of(self.holders[0])
        elif self.standing.until_read:
            yield "Whoever is active has read everything."
        else:
            yield "Messages go when newer ones come, read or not: nobody holds any back."
        for each in self.losers[:NAMED]:
            missed = counted(self.standing.status.first_seq - 1 - each.read_seq, "message")
            yield f"{each.user!r} has missed {missed} that are not kept any more."
        if len(self.losers) > NAMED:
            yield f"So have {len(self.losers) - NAMED:,} more."
        if self.losers:
            more = "a longer idle_ttl" if self.standing.until_read else "a larger keep"
            yield f"For readers who come that seldom: redefine the chat with {more}."

    def _to_be_rid_of(self, first: Reader) -> Iterator[str]:
        name = first.user
        alike = sum(each.read_seq == first.read_seq for each in self.holders)
        if alike > 1:
            yield f"They are kept for {alike:,} members who have read no further than {name!r}."
        else:
            yield f"{counted(self.alone, 'message')} of these are kept for {name!r} alone."
        when = f", or {distance(first.lets_go_at)} if it stays silent" if first.lets_go_at else ""
        yield f"They go when {name!r} reads or leaves{when}."
        yield (
            "To hold less: a shorter idle_ttl, or a number to keep, "
            f"as in hf.chat({self.standing.chat_id!r}).redefine(keep=1_000)."
        )


@dataclass(frozen=True, slots=True)
class Backlog:
    """What the owner of a mailbox has not read."""

    standing: MailboxStanding

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        status = self.standing.status
        return {**self.standing.as_json(), "left": max(0, status.capacity - status.unread)}

    def rows(self) -> Iterator[tuple[str, str]]:
        """For people."""
        return self.standing.rows()

    def advice(self) -> Iterator[str]:
        """What it means, and what to do, in sentences."""
        name, status = self.standing.name, self.standing.status
        left = status.capacity - status.unread
        if left > 0:
            yield f"{counted(left, 'more message')} {'fits' if left == 1 else 'fit'} in."
        elif status.overflow == "reject":
            yield "It is full: whoever sends gets MailboxFull until something is read."
        else:
            yield "It is full: with each new message the oldest one is lost."
        if status.unread:
            yield (
                "Read messages cost no room: let its owner acknowledge, or give it more, "
                f"as in hf.mailbox({name!r}).redefine(capacity=…)."
            )
