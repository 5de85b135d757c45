"""`holdfast chat`: list chats and mailboxes, write to them, follow them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer

from ... import Chat, MailboxFull, NotAMember
from ..connection import fail, storable_values, with_client
from ..exit_codes import INTERRUPTED, REFUSED, WRONG_USAGE
from ..options import argument, flag, option
from ..output import (
    AsJson,
    field_table,
    print_block,
    print_json,
    print_line,
    print_sections,
    shown_name,
    warn,
)
from ..resources import group, list_resources
from .chats import CHATS, MAILBOXES, ChatSummary, member_table
from .conversation import (
    AnyMessage,
    Conversation,
    IsMailbox,
    Name,
    conversation,
    message_json,
    message_line,
    message_table,
)
from .explain import explain

if TYPE_CHECKING:
    from ... import Holdfast


SHOWN: Final = 10
"""Members and messages that `show` prints; `--json` has all members that the server returns."""


@with_client()
def ls(
    hf: Holdfast,
    mailbox: Annotated[bool, flag("List the mailboxes.", "--mailbox")] = False,
    as_json: AsJson = False,
) -> None:
    """List the chats: members, messages that are kept, and when the newest was sent.

    With --mailbox the mailboxes: what is unread, and when they were last read.
    """
    list_resources(hf, MAILBOXES if mailbox else CHATS, as_json=as_json)


@with_client()
def show_chat(
    hf: Holdfast, name: Name, mailbox: IsMailbox = False, as_json: AsJson = False
) -> None:
    """Show one chat: what it keeps, how far its members have read, its latest messages.

    With --mailbox a mailbox: what is unread, and when it was last read.
    """
    with conversation(hf, name, mailbox=mailbox) as found:
        source = found.source
        state: Any = ChatSummary.read(source) if isinstance(source, Chat) else source.status()
        messages = found.newest(SHOWN)
    readers = () if mailbox else state.status.behind
    if as_json:
        behind = {} if mailbox else {"behind": list(map(asdict, readers))}
        latest = {"latest": list(map(message_json, messages))}
        print_json(found.resource.json_of(name, state), behind, latest)
        return
    print_block(field_table([(found.resource.noun, shown_name(name)), *found.resource.rows(state)]))
    if not mailbox:
        members = member_table(readers[:SHOWN], seen=state.until_read)
        print_sections(("members, those furthest behind first", members))
    if messages:
        print_sections(("latest messages, in UTC", message_table(messages)))


Sender = Annotated[str, option("USER", "The sender; in a chat a member.", "--as")]


@with_client()
def send(
    hf: Holdfast,
    name: Name,
    text: Annotated[str, argument("TEXT", "The message.")],
    sender: Sender,
    mailbox: IsMailbox = False,
    as_json: AsJson = False,
) -> None:
    """Send a text to a chat, as one of its members.

    With --mailbox to a mailbox; its first message creates it. The exit
    code is 4 if the sender is no member, or if the mailbox is full.
    """
    if not text:
        fail("there is nothing to send: TEXT is empty", code=WRONG_USAGE)
    with conversation(hf, name, mailbox=mailbox, must_exist=False) as found:
        try:
            with storable_values():
                seq = found.source.send(text, sender=sender)
        except (MailboxFull, NotAMember) as error:
            fail(str(error), code=REFUSED)
    if as_json:
        print_json({found.resource.key: name, "seq": seq})
    else:
        print_line(f"sent to {found} as number {seq:,}")


POLL_S: Final = 0.5
"""The server notifies members only, so `tail` polls."""

Last = Annotated[
    int, option("N", "Begin with the last N messages, at most 1,000.", min=0, max=1000)
]


@with_client()
def tail(
    hf: Holdfast,
    name: Name,
    mailbox: IsMailbox = False,
    last: Last = 10,
    as_json: AsJson = False,
) -> None:
    """Show the last messages, and each new one as it comes, until Ctrl-C.

    This does not make the user a reader: nothing is acknowledged, and no message is kept
    or dropped because of it.
    """
    with conversation(hf, name, mailbox=mailbox) as found:
        try:
            _follow(found, last, as_json=as_json)
        except KeyboardInterrupt:
            raise typer.Exit(INTERRUPTED) from None


def _follow(found: Conversation, last: int, *, as_json: bool) -> NoReturn:
    messages = found.newest(max(1, last))
    seq = messages[-1].seq if messages else None
    _print(messages[-last:] if last else [], as_json=as_json)
    while True:
        time.sleep(POLL_S)
        messages = found.after(seq or 0)
        if seq and messages and messages[0].seq <= seq:
            warn(f"{found} was deleted and created again")
        elif seq and messages and messages[0].seq > seq + 1:
            warn(
                f"numbers {seq + 1:,} to {messages[0].seq - 1:,} were dropped before they were read"
            )
        _print(messages, as_json=as_json)
        seq = messages[-1].seq if messages else seq


def _print(messages: Iterable[AnyMessage], *, as_json: bool) -> None:
    for message in messages:
        if as_json:
            print_json(message_json(message))
        else:
            print_line(message_line(message))


app: Final = group("chat", "List chats and mailboxes, write to them, and follow them.", ls)
app.command("show", example="holdfast chat show general")(show_chat)
app.command("send", example="holdfast chat send general 'Hello' --as jack")(send)
app.command("tail", example="holdfast chat tail general --last 20")(tail)
app.command("explain", example="holdfast chat explain jack --mailbox")(explain)
