"""The chat or mailbox of a command: a conversation with messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

from ... import Chat, Mailbox, Message, NoSuchChat, Undecodable
from ..options import argument, flag
from ..resources import Resource
from .chats import CHATS
from .mailboxes import MAILBOXES

if TYPE_CHECKING:
    from ... import Holdfast

AnyMessage = Message | Undecodable

PAGE: Final = 100
"""Messages of one request."""

Name = Annotated[str, argument("ID", "The chat.")]
IsMailbox = Annotated[bool, flag("ID is a mailbox.", "--mailbox")]


class Conversation:
    """The chat, or the mailbox, called *name*."""

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
        """Return all messages after a number; after a new chat of that name began, all of them."""
        newest = self.newest(1)
        last = newest[-1].seq if newest else seq
        found: list[AnyMessage] = []
        seq = seq if seq <= last else 0
        while seq < last and (page := self._page(seq)):
            found += page
            seq = page[-1].seq
        return found

    def _page(self, seq: int) -> list[AnyMessage]:
        """Return the next messages after a number."""
        if isinstance(self.source, Mailbox):
            return self.source.latest(PAGE, after=seq)
        return self.source.history(after=seq, limit=PAGE)

    def check_exists(self) -> None:
        """End the command if nothing was ever written to it."""
        # The list of names is bounded, so it may lack a mailbox that has messages.
        known = self.newest(1) or isinstance(self.source, Chat)
        if not known and self.name not in self.resource.names(self._hf):
            self.resource.not_found(self._hf, self.name)


@contextmanager
def conversation(
    hf: Holdfast, name: str, *, mailbox: bool, must_exist: bool = True
) -> Iterator[Conversation]:
    """Yield the conversation of a command, which ends if there is no such chat."""
    found = Conversation(hf, name, mailbox=mailbox)
    try:
        if must_exist:
            found.check_exists()
        yield found
    except NoSuchChat:
        found.resource.not_found(hf, name)
