"""`holdfast chat ls` and `show`: which chats there are, who is in them, what was said last."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from rich.console import RenderableType
from rich.text import Text

from ... import Mailbox
from ..connection import Embedded, Namespace, Url, connected
from ..listing import LISTED
from ..output import AsJson, fields, say, show, show_json, warn
from .chats import ChatStanding, readers_table
from .mailboxes import MailboxStanding
from .place import IsMailbox, Name, Place, opened
from .posts import post_fields, posts_table

GLIMPSE: Final = 10
"""Members and messages that `show` tells; JSON has all members that the server tells."""


def ls(
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    as_json: AsJson = False,
    mailbox: Annotated[bool, typer.Option("--mailbox", help="List the mailboxes.")] = False,
) -> None:
    """List the chats: members, messages that are kept, and when the newest was sent.

    With --mailbox the mailboxes: what is unread, and when they were last read.
    """
    kind: type[ChatStanding | MailboxStanding] = MailboxStanding if mailbox else ChatStanding
    what = "mailboxes" if mailbox else "chats"
    with connected(url, embedded, namespace, create=False) as hf:
        found: list[Any] = list(kind.all(hf))
    if as_json:
        for each in found:
            show_json(each.as_json())
    elif found:
        show(kind.table(found))
    else:
        say(f"no {what} in namespace {namespace}")
    if len(found) == LISTED:
        warn(f"these are the {LISTED:,} {what} that were used last; there may be more")


def show_one(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    mailbox: IsMailbox = False,
    as_json: AsJson = False,
) -> None:
    """Show one chat: what it keeps, how far its members have read, what was said last.

    With --mailbox a mailbox: what is unread, and when it was last read.
    """
    with opened(name, url, embedded, namespace, mailbox=mailbox) as place:
        place.expect()
        standing, posts = _standing(place), place.newest(GLIMPSE)
    readers = standing.status.behind if isinstance(standing, ChatStanding) else ()
    if as_json:
        behind = {} if mailbox else {"behind": list(map(asdict, readers))}
        show_json(standing.as_json(), behind, {"latest": list(map(post_fields, posts))})
        return
    show(fields(standing.rows()))
    if isinstance(standing, ChatStanding):
        members = readers_table(readers[:GLIMPSE], seen=standing.until_read)
        _section("members, those furthest behind first", members)
    if posts:
        _section("latest messages, in UTC", posts_table(posts))


def _standing(place: Place) -> ChatStanding | MailboxStanding:
    if isinstance(place.source, Mailbox):
        return MailboxStanding(place.name, place.source.status())
    return ChatStanding.of(place.source)


def _section(title: str, content: RenderableType) -> None:
    for part in Text(), Text(title, "bold"), content:
        show(part)
