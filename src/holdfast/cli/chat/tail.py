"""`holdfast chat tail`: follow a chat or mailbox."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from ..connection import with_client
from ..exit_codes import INTERRUPTED
from ..options import option
from ..output import AsJson, print_json, print_line, warn
from .conversation import AnyMessage, Conversation, IsMailbox, Name, conversation
from .messages import message_json, message_line

if TYPE_CHECKING:
    from ... import Holdfast

POLL_S: Final = 0.5
"""The server notifies members only, so `tail` polls."""

Last = Annotated[int, option("N", "Begin with the last N messages, up to 1,000.", min=0, max=1000)]


@with_client()
def tail(
    hf: Holdfast,
    name: Name,
    mailbox: IsMailbox = False,
    last: Last = 10,
    as_json: AsJson = False,
) -> None:
    """Show the last messages, and each new one as it comes, until Ctrl-C.

    This makes no one a reader: nothing is acknowledged, and no message is kept
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
