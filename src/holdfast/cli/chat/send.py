"""`holdfast chat send`: write to a chat or mailbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ... import MailboxFull, NotAMember
from ..connection import fail, with_client
from ..exit_codes import REFUSED, WRONG_USAGE
from ..options import argument, option
from ..output import AsJson, print_json, print_line
from .conversation import IsMailbox, Name, conversation

if TYPE_CHECKING:
    from ... import Holdfast

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

    With --mailbox to a mailbox, which begins with its first message. The exit
    code is 4 if the sender is no member, or if the mailbox is full.
    """
    if not text:
        fail("there is nothing to send: TEXT is empty", code=WRONG_USAGE)
    with conversation(hf, name, mailbox=mailbox, must_exist=False) as found:
        try:
            seq = found.source.send(text, sender=sender)
        except (MailboxFull, NotAMember) as error:
            fail(str(error), code=REFUSED)
    if as_json:
        print_json({found.resource.key: name, "seq": seq})
    else:
        print_line(f"sent to {found} as number {seq:,}")
