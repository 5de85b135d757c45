"""`holdfast chat send` and `tail`: write to a chat or mailbox, listen to it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Annotated, Final, NoReturn

import typer

from ... import MailboxFull, NotAMember
from ..codes import INTERRUPTED, REFUSED, WRONG_USAGE
from ..connection import Embedded, Namespace, Url, fail
from ..output import AsJson, say, show_json, warn
from .place import IsMailbox, Name, Place, Post, opened
from .posts import post_fields, post_line

LOOK_S: Final = 0.5
"""Between two looks: a listener who is no member is not woken by the server."""

Sender = Annotated[
    str, typer.Option("--as", metavar="USER", help="Who says it; in a chat a member.")
]
Before = Annotated[
    int,
    typer.Option(
        "--last", metavar="N", min=0, max=1000, help="Begin with the last N messages, up to 1,000."
    ),
]


def send(
    name: Name,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say.")],
    sender: Sender,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    mailbox: IsMailbox = False,
    as_json: AsJson = False,
) -> None:
    """Send a text to a chat, as one of its members.

    With --mailbox to a mailbox, which begins with its first message. The exit
    code is 4 if the sender is no member, or if the mailbox is full.
    """
    if not text:
        fail("there is nothing to send: TEXT is empty", code=WRONG_USAGE)
    with opened(name, url, embedded, namespace, mailbox=mailbox) as place:
        try:
            seq = place.source.send(text, sender=sender)
        except (MailboxFull, NotAMember) as error:
            fail(str(error), code=REFUSED)
    if as_json:
        show_json({"mailbox" if mailbox else "chat": name, "seq": seq})
    else:
        say(f"sent to {place} as number {seq:,}")


def tail(
    name: Name,
    url: Url = None,
    embedded: Embedded = None,
    namespace: Namespace = "holdfast",
    mailbox: IsMailbox = False,
    last: Before = 10,
    as_json: AsJson = False,
) -> None:
    """Show the last messages, and each new one as it comes, until Ctrl-C.

    Nobody is a reader by that: nothing is acknowledged, nothing stays or goes
    because somebody listens.
    """
    with opened(name, url, embedded, namespace, mailbox=mailbox) as place:
        place.expect()
        try:
            _follow(place, last, as_json=as_json)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def _follow(place: Place, last: int, *, as_json: bool) -> NoReturn:
    posts = place.newest(max(1, last))
    seq = posts[-1].seq if posts else None
    _tell(posts[-last:] if last else [], as_json=as_json)
    while True:
        time.sleep(LOOK_S)
        posts = place.after(seq or 0)
        if seq and posts and posts[0].seq <= seq:
            warn(f"{place} has begun anew")
        elif seq and posts and posts[0].seq > seq + 1:
            warn(f"numbers {seq + 1:,} to {posts[0].seq - 1:,} were gone before they could be told")
        _tell(posts, as_json=as_json)
        seq = posts[-1].seq if posts else seq


def _tell(posts: Iterable[Post], *, as_json: bool) -> None:
    for post in posts:
        if as_json:
            show_json(post_fields(post))
        else:
            say(post_line(post))
