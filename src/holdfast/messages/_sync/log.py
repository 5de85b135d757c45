# Generated from _async/log.py by tools/unasync.py: edit that, then run `make sync`.
"""Run the scripts that mailboxes and chats share, on one log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...core import ledger
from ...core._sync.caller import Argument, Caller
from ...core.names import Unit
from ...core.script import Script
from ...core.telemetry import during
from ...core.trace import stored
from ...errors import NoSuchChat, NoSuchMessage, NotAMember, StaleBatch
from .. import keys
from ..message import Message, Position, Undecodable, messages_of

ACK: Final = Script.load("holdfast.messages", "ack")
FETCH: Final = Script.load("holdfast.messages", "fetch")
PAGE: Final = Script.load("holdfast.messages", "page")
REDEFINE: Final = Script.load("holdfast.messages", "redefine")
UNREAD: Final = Script.load("holdfast.messages", "unread")

REPLY_BYTES: Final = 4 << 20
"""Maximum bytes of the messages in one reply."""


class Log:
    """Call the server about the log of one mailbox or chat.

    Args:
        caller: calls the server.
        unit: the mailbox or chat.
    """

    def __init__(self, caller: Caller, unit: Unit) -> None:
        self.unit = unit
        self.channel: str = unit.channel
        self.message: str = f"a message to {unit}"
        self.fetch_keys: tuple[str | bytes, ...] = FETCH.keys(unit)
        self.ack_keys: tuple[str | bytes, ...] = ACK.keys(unit)
        self.unread_keys: tuple[str | bytes, ...] = UNREAD.keys(unit)
        self._caller = caller

    def write(self, script: Script, operation: ledger.Operation, *args: Argument) -> Any:
        """Run *script* with the id of *operation* and *args*."""
        identified = [operation.writer, operation.number, *args]
        return self._caller.call(script, self.unit, script.keys(self.unit), identified)

    def send(
        self,
        script: Script,
        operation: ledger.Operation,
        *args: Argument,
        members: Sequence[Argument] = (),
    ) -> Any:
        """Run *script*, which writes a message, with *args*, the current trace context, and
        *members*."""
        with during(self._caller.settings.telemetry, "send", self.unit) as sending:
            trace = stored(sending.trace)
            last = (trace, *members) if trace or members else ()
            reply = self.write(script, operation, *args, *last)
            verdict: bytes = reply if isinstance(reply, bytes) else reply[0]
            if not (verdict.isdigit() or verdict in (b"created", b"kept")):
                sending.ended("refused", verdict.decode())
        return reply

    def ack(self, reader: str, read: str, upto: Position) -> None:
        """Acknowledge all messages up to *upto* for *reader*. Harmless to repeat.

        Args:
            reader: the reader.
            read: position that was returned to the reader, as the argument *read* of `ack.lua`;
                empty: do not check it.
            upto: the position to acknowledge.

        Raises:
            NoSuchChat, NotAMember, StaleBatch, NoSuchMessage: the call had no effect.
        """
        [reply] = self._caller.call(
            ACK, self.unit, self.ack_keys, [reader, read, upto.seq], harmless=True
        )
        self.check_ack(reply, reader, read, upto)

    def check_ack(self, reply: Sequence[Any], reader: str, read: str, upto: Position) -> None:
        """Raise the error in a *reply* of `ack.lua` for this log. The other arguments are
        those of the call of `ack`.

        Raises:
            NoSuchChat, NotAMember, StaleBatch, NoSuchMessage: the call had no effect.
        """
        match reply[0]:
            case b"acked":
                return
            case b"missing" if self.unit.kind == keys.CHAT:
                raise NoSuchChat(self.unit.name)
            case b"not_member":
                raise NotAMember(reader, self.unit.name)
            case b"beyond":
                raise NoSuchMessage(str(self.unit), upto.seq, int(reply[1]))
        if read:
            raise StaleBatch(str(self.unit), upto.epoch)
        raise NoSuchMessage(str(self.unit), upto.seq, 0)

    def page(
        self, limit: int, *, before: int | None, after: int | None, reader: str = ""
    ) -> list[Message | Undecodable]:
        """Return a page of messages, the oldest first.

        Args:
            limit: maximum number of messages.
            before: return the newest messages before this number; None: the newest of all.
            after: return the oldest messages after this number; None: use *before*.
            reader: the reader who gets the messages, and only those that it may read; empty: any
                message is returned.

        Raises:
            NoSuchChat: the chat does not exist. A mailbox that does not exist is empty.
            NotAMember: *reader* is not a member of the chat.
        """
        edges = ["" if edge is None else edge for edge in (before, after)]
        args = [reader, *edges, limit, REPLY_BYTES]
        verdict, *found = self._caller.call(PAGE, self.unit, PAGE.keys(self.unit), args)
        if verdict == b"missing" and self.unit.kind == keys.CHAT:
            raise NoSuchChat(self.unit.name)
        if verdict == b"not_member":
            raise NotAMember(reader, self.unit.name)
        messages = [message for entries in found for message in messages_of(entries)]
        return messages if after is not None else messages[::-1]

    def redefine(
        self,
        owner: str,
        settings: list[tuple[str, Argument]],
        *,
        op_id: str | None,
        repeat: Callable[..., Any],
    ) -> None:
        """Change settings of the mailbox of *owner*, which is created if it does not exist; or, if
        *owner* is empty, of a chat.

        Raises:
            NoSuchChat: the chat does not exist.
        """
        pairs = [part for pair in settings for part in pair]
        answer = self._caller.write(REDEFINE, self.unit, owner, *pairs, op_id=op_id, repeat=repeat)
        if answer == b"missing":
            raise NoSuchChat(self.unit.name)
