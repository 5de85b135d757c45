"""One log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ...core import ledger
from ...core._async.caller import Argument, AsyncCaller
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
"""What the messages of one answer may take."""


class AsyncLog:
    """The log of a mailbox or chat.

    Args:
        caller: how to reach the server.
        unit: the mailbox or chat.
    """

    def __init__(self, caller: AsyncCaller, unit: Unit) -> None:
        self.unit = unit
        self.channel = unit.key("bell")
        self.message = f"a message to {unit}"
        self.fetch_keys = FETCH.keys(unit)
        self.unread_keys = UNREAD.keys(unit)
        self._caller = caller

    async def write(
        self,
        script: Script,
        operation: ledger.Operation,
        *args: Argument,
    ) -> Any:
        """Run one step of *operation*."""
        identified = [operation.writer, operation.number, *args]
        return await self._caller.call(script, self.unit, script.keys(self.unit), identified)

    async def send(
        self,
        script: Script,
        operation: ledger.Operation,
        *args: Argument,
        then: Sequence[Argument] = (),
    ) -> Any:
        """Write a message: the trace in which it is sent comes behind *args*, and before *then*."""
        with during(self._caller.settings.telemetry, "send", self.unit) as sent:
            trace = stored(sent.trace)
            last = (trace, *then) if trace or then else ()
            reply = await self.write(script, operation, *args, *last)
            verdict: bytes = reply if isinstance(reply, bytes) else reply[0]
            if not (verdict.isdigit() or verdict == b"created"):
                sent.ended("refused", verdict.decode())
        return reply

    async def ack(self, reader: str, read: str, upto: Position) -> None:
        """*reader* is done with all up to *upto*; harmless to repeat.

        Args:
            reader: who.
            read: what it was shown, as `ack.lua` takes it; empty: it does not matter.
            upto: where it is now.

        Raises:
            NoSuchChat, NotAMember, StaleBatch, NoSuchMessage: nothing was changed.
        """
        reply = await self._caller.call(
            ACK, self.unit, ACK.keys(self.unit), [reader, read, upto.seq], harmless=True
        )
        match reply[0]:
            case b"acked":
                return
            case b"missing" if self.unit.kind == keys.CHAT:
                raise NoSuchChat(self.unit.name)
            case b"stranger":
                raise NotAMember(reader, self.unit.name)
            case b"beyond":
                raise NoSuchMessage(str(self.unit), upto.seq, int(reply[1]))
        if read:
            raise StaleBatch(str(self.unit), upto.epoch)
        raise NoSuchMessage(str(self.unit), upto.seq, 0)

    async def page(
        self, limit: int, *, before: int | None, after: int | None, reader: str = ""
    ) -> list[Message | Undecodable]:
        """Messages that are kept, the oldest first: the newest ones, or those around a number.

        Args:
            limit: how many at most.
            before: the newest before this number; None of all.
            after: instead the oldest after this number.
            reader: who must be one, and sees what it may read; empty: anybody may see all.

        Raises:
            NoSuchChat: there is none; an unknown mailbox is empty.
            NotAMember: *reader* is none.
        """
        edges = ["" if edge is None else edge for edge in (before, after)]
        args = [reader, *edges, limit, REPLY_BYTES]
        verdict, *found = await self._caller.call(PAGE, self.unit, PAGE.keys(self.unit), args)
        if verdict == b"missing" and self.unit.kind == keys.CHAT:
            raise NoSuchChat(self.unit.name)
        if verdict == b"stranger":
            raise NotAMember(reader, self.unit.name)
        messages = [message for entries in found for message in messages_of(entries)]
        return messages if after is not None else messages[::-1]

    async def redefine(
        self,
        owner: str,
        settings: list[tuple[str, Argument]],
        *,
        op_id: str | None,
        repeat: Callable[..., Any],
    ) -> None:
        """Change settings; *owner* is whose mailbox it is, empty for a chat.

        Raises:
            NoSuchChat: there is none.
        """
        pairs = [part for pair in settings for part in pair]
        answer = await self._caller.write(
            REDEFINE, self.unit, owner, *pairs, op_id=op_id, repeat=repeat
        )
        if answer == b"missing":
            raise NoSuchChat(self.unit.name)
