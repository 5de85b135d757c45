"""Read the messages of a chat or mailbox, and format them as text and as JSON."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

from rich.table import Table
from rich.text import Text

from ... import Chat, Mailbox, Message, NoSuchChat, Undecodable
from ...inspect.formats import counted, utc
from ..options import argument, flag
from ..output import untrusted
from ..resources import Resource
from .chats import CHATS, MAILBOXES

if TYPE_CHECKING:
    from ... import Holdfast


AnyMessage = Message | Undecodable

PAGE: Final = 100
"""Messages that one request reads at most."""

Name = Annotated[str, argument("ID", "The chat.")]
IsMailbox = Annotated[bool, flag("ID is a mailbox.", "--mailbox")]


class Conversation:
    """Reads the messages of the chat or mailbox *name*."""

    def __init__(self, hf: Holdfast, name: str, *, mailbox: bool) -> None:
        self.name = name
        self.source: Chat | Mailbox = hf.mailbox(name) if mailbox else hf.chat(name)
        self.resource: Resource[Any] = MAILBOXES if mailbox else CHATS
        self._hf = hf

    def __str__(self) -> str:
        return f"{self.resource.noun} {self.name!r}"

    def newest(self, limit: int) -> list[AnyMessage]:
        """Return the newest messages that are kept, the oldest of them first."""
        if isinstance(self.source, Mailbox):
            return self.source.latest(limit)
        return self.source.history(limit=limit)

    def after(self, seq: int) -> list[AnyMessage]:
        """Return all messages after number *seq*; all if the chat was deleted and created again."""
        newest = self.newest(1)
        last = newest[-1].seq if newest else seq
        found: list[AnyMessage] = []
        seq = seq if seq <= last else 0
        while seq < last and (page := self._page(seq)):
            found += page
            seq = page[-1].seq
        return found

    def _page(self, seq: int) -> list[AnyMessage]:
        """Return the next messages after number *seq*."""
        if isinstance(self.source, Mailbox):
            return self.source.latest(PAGE, after=seq)
        return self.source.history(after=seq, limit=PAGE)

    def check_exists(self) -> None:
        """End the command if the chat or mailbox does not exist."""
        # The list of names is bounded, so it may lack a mailbox that has messages.
        known = self.newest(1) or isinstance(self.source, Chat)
        if not known and self.name not in self.resource.names(self._hf):
            self.resource.not_found(self._hf, self.name)


@contextmanager
def conversation(
    hf: Holdfast, name: str, *, mailbox: bool, must_exist: bool = True
) -> Iterator[Conversation]:
    """Yield the chat or mailbox *name*. End the command if the chat does not exist.

    If *must_exist*, also end the command if the mailbox does not exist.
    """
    found = Conversation(hf, name, mailbox=mailbox)
    try:
        if must_exist:
            found.check_exists()
        yield found
    except NoSuchChat:
        found.resource.not_found(hf, name)


LONGEST: Final = 280
"""Characters of a message that are shown. `--json` prints the whole message."""


def message_line(message: AnyMessage) -> str:
    """Return one message on a line."""
    head = f"{utc(message.sent_at)}  {message.seq:>5}  {message.sender}"
    return f"{head}: {_body(message).plain}"


def message_table(messages: Iterable[AnyMessage]) -> Table:
    """Return a table of messages. Long messages are folded within their column."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold", max_width=20)
    table.add_column(overflow="fold")
    for each in messages:
        table.add_row(f"{each.seq:,}", utc(each.sent_at), untrusted(each.sender), _body(each))
    return table


def message_json(message: AnyMessage) -> dict[str, Any]:
    """Return the JSON fields of one message: `body`, or `base64` if the body is bytes."""
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
    """Return the text of *message*, cut after `LONGEST` characters."""
    if not isinstance(message, Message):
        return untrusted(f"(unreadable: {message.reason})", "red")
    body = message.body
    if isinstance(body, bytes):
        return Text(f"({counted(len(body), 'byte')})", "dim")
    text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return untrusted(text if len(text) <= LONGEST else f"{text[:LONGEST]}…")
