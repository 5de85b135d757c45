"""A chat or a mailbox, as the commands see them: a place with messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from ... import Chat, Mailbox, Message, NoSuchChat, Undecodable
from ..codes import NOT_FOUND
from ..connection import connected, fail
from ..found import like

if TYPE_CHECKING:
    from ... import Holdfast

Post = Message | Undecodable

PAGE: Final = 100
"""Messages that are asked for at once."""

Name = Annotated[str, typer.Argument(metavar="ID", help="The chat.")]
IsMailbox = Annotated[bool, typer.Option("--mailbox", help="ID is a mailbox.")]


class Place:
    """The chat, or the mailbox, called *name*."""

    def __init__(self, hf: Holdfast, name: str, *, mailbox: bool) -> None:
        self.name = name
        self.source: Chat | Mailbox = hf.mailbox(name) if mailbox else hf.chat(name)
        self._hf = hf

    def __str__(self) -> str:
        return f"{'mailbox' if isinstance(self.source, Mailbox) else 'chat'} {self.name!r}"

    def expect(self) -> None:
        """End the command if nobody has ever written to it."""
        # The list of names may lack one: it is bounded.
        if not (self.newest(1) or isinstance(self.source, Chat) or self.name in self._names()):
            self.not_found()

    def newest(self, limit: int) -> list[Post]:
        """The newest messages that are kept, the oldest of them first."""
        if isinstance(self.source, Mailbox):
            return self.source.latest(limit)
        return self.source.history(limit=limit)

    def after(self, seq: int) -> list[Post]:
        """All after a number; all there is, if it has begun anew."""
        newest = self.newest(1)
        last = newest[-1].seq if newest else seq
        found: list[Post] = []
        seq = seq if seq <= last else 0
        while seq < last and (page := self._page(seq)):
            found += page
            seq = page[-1].seq
        return found

    def _page(self, seq: int) -> list[Post]:
        """The next ones after a number."""
        if isinstance(self.source, Mailbox):
            return self.source.latest(PAGE, after=seq)
        return self.source.history(after=seq, limit=PAGE)

    def not_found(self) -> NoReturn:
        """End the command, and say which names are like this one."""
        where = f"in namespace {self._hf.namespace!r}"
        fail(f"there is no {self} {where}{like(self.name, self._names())}", code=NOT_FOUND)

    def _names(self) -> list[str]:
        return self._hf.mailboxes() if isinstance(self.source, Mailbox) else self._hf.chats()


@contextmanager
def opened(
    name: str, url: str | None, embedded: Path | None, namespace: str, *, mailbox: bool
) -> Iterator[Place]:
    """A chat or mailbox for a command, which ends if there is no such chat."""
    with connected(url, embedded, namespace, create=False) as hf:
        place = Place(hf, name, mailbox=mailbox)
        try:
            yield place
        except NoSuchChat:
            place.not_found()
