"""`holdfast chat ls` and `show`: which chats there are, their members and latest messages."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

from ... import Chat
from ..connection import with_client
from ..options import flag
from ..output import AsJson, field_table, print_block, print_json, print_sections
from ..resources import list_resources
from .chats import CHATS, ChatSummary, member_table
from .conversation import IsMailbox, Name, conversation
from .mailboxes import MAILBOXES
from .messages import message_json, message_table

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
    print_block(field_table([(found.resource.noun, name), *found.resource.rows(state)]))
    if not mailbox:
        members = member_table(readers[:SHOWN], seen=state.until_read)
        print_sections(("members, those furthest behind first", members))
    if messages:
        print_sections(("latest messages, in UTC", message_table(messages)))
