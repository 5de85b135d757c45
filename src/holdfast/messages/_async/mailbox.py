"""The mailbox as its senders and its owner see it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from ...core.checks import checked_int
from ...core.clock import Duration
from ...core.names import Unit
from ...core.script import Script
from ...errors import DecodeError, DefinitionConflict, MailboxFull
from ..body import encoded_body
from ..message import Batch, FetchReply, Message, Position, Undecodable, batch_of
from ..options import (
    MAX_KEPT,
    MAX_LIMIT,
    Overflow,
    check_edges,
    checked_name,
    checked_overflow,
    checked_positions,
    checked_seq,
)
from ..seen_positions import batch_position, lost_since, position_text
from ..states import MailboxStatus, instant, mailbox_status
from .log import FETCH, REPLY_BYTES
from .messaging import AsyncMessaging
from .reader import AsyncReader

DELIVER: Final = Script.load("holdfast.messages", "deliver")
MAILBOX_STATUS: Final = Script.load("holdfast.messages", "mailbox_status")


class AsyncMailbox(AsyncReader):
    """A mailbox by name: anyone may send, its owner reads and acknowledges.

    Create it with `AsyncHoldfast.mailbox`. One object serves all tasks and threads. It remembers
    what it has returned, so it notices when the server loses messages.
    """

    def __init__(
        self,
        messaging: AsyncMessaging,
        name: str,
        capacity: int | None,
        overflow: Overflow | None,
    ) -> None:
        self.name = checked_name(name, "a mailbox")
        self._log = messaging.mailbox(name)
        super().__init__(messaging, self._log.unit)
        self._units = frozenset([self._log.unit])
        if capacity is not None:
            capacity = checked_int(capacity, "capacity", 1, MAX_KEPT)
        self._capacity = capacity
        self._overflow = None if overflow is None else checked_overflow(overflow)

    def __repr__(self) -> str:
        return f"AsyncMailbox({self.name!r})"

    async def send(
        self,
        body: Any,
        *,
        sender: str,
        per_sender: int | None = None,
        op_id: str | None = None,
    ) -> int:
        """Put a message into the mailbox.

        Args:
            body: a JSON value, or bytes; at most 1 MiB, and not empty.
            sender: who sends it.
            per_sender: refuse the message if this many messages that the sender sent with this
                option are unread; at most half of the capacity counts. None: no such limit.
            op_id: see `OutcomeUnknown`.

        Returns:
            The number of the message. The first message has 1, each further one the next number.

        Raises:
            MailboxFull: the message was not stored: too many are unread, in all or of this sender.
            DefinitionConflict: the message was not stored: the mailbox has other settings.
            PayloadTooLarge: the body is over the limit.
        """
        checked_name(sender, "a sender")
        stored = encoded_body(body, self._log.message)
        if per_sender is not None:
            per_sender = checked_int(per_sender, "per_sender", 1, MAX_KEPT)
        repeat = partial(self.send, body, sender=sender, per_sender=per_sender)
        with self._messaging.caller.writers.operation(op_id, repeat, verb="send") as write:
            message = (self._log.channel, self.name, sender, stored)
            limits = (self._capacity or "", self._overflow or "", per_sender or "")
            reply = await self._log.send(DELIVER, write, *message, *limits)
        match reply:
            case [b"full", stored_capacity, since_ms]:
                raise MailboxFull(self.name, int(stored_capacity), instant(since_ms))
            case [b"sender_full", most]:
                raise MailboxFull(self.name, int(most), None, sender=sender)
            case [b"conflict", stored_capacity, stored_overflow]:
                raise self._conflict(int(stored_capacity), stored_overflow.decode())
        if not reply.isdigit():
            raise DecodeError(f"the ledger of {self._log.unit}", f"{reply[:40]!r} is no number")
        await self._messaging.catalog.note(self._log.unit)
        return int(reply)

    async def fetch(
        self,
        *,
        limit: int = 100,
        timeout: Duration | None = 0.0,
        after: Position | None = None,
    ) -> Batch:
        """Return the messages that are not acknowledged, the oldest first.

        It changes nothing: `ack` the batch when you have processed it.

        Args:
            limit: messages at most, 1 to 1,000. Fewer come if they take more than 4 MiB.
            timeout: seconds (or a timedelta) to wait for the first message; 0: do not wait; None:
                wait forever.
            after: the position of the last batch that this device has. The mailbox is read from
                there on, even if another device of the owner has acknowledged more. If the server
                has lost messages that the device has, a `Gap` with the reason `reset` says so, and
                all messages that are kept come again.

        Returns:
            The batch; false if there is no message.
        """
        known = {} if after is None else {self.name: after}
        [batch] = await self._fetch(limit, timeout, checked_positions(known))
        return batch

    async def ack(self, batch: Batch | int) -> None:
        """Acknowledge all messages of a batch, and all before them.

        A second or late call changes nothing: acknowledgments are never taken back.

        Args:
            batch: as fetched; or the number of a message, to acknowledge it and all before it.

        Raises:
            StaleBatch: the server lost the mailbox, or the last message of the batch, and reused
                its number; fetch again. For a number: the last message that this object returned.
            NoSuchMessage: no message has that number yet.
        """
        if isinstance(batch, Batch):
            if batch.source != self.name:
                raise ValueError(f"this batch is of {batch.source!r}, not of {self.name!r}")
            position, read = batch.position, batch_position(batch)
        else:
            seen = self._seen.of(self.name)
            position = Position(seen.epoch if seen else 0, checked_seq(batch))
            read = position_text(seen, own=False)
        if position.seq:
            await self._log.ack(self.name, read, position)
            self._seen.note(self.name, position)

    async def latest(
        self, limit: int = 10, *, before: int | None = None, after: int | None = None
    ) -> list[Message | Undecodable]:
        """Return the newest messages, acknowledged or not, the oldest of them first.

        Args:
            limit: messages at most, 1 to 1,000. Fewer come if they take more than 4 MiB.
            before: return the newest messages before this number, to go back page by page.
            after: return the oldest messages after this number instead, to follow new ones.
        """
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        check_edges(before, after)
        return await self._log.page(limit, before=before, after=after)

    async def status(self) -> MailboxStatus:
        """Return how many messages are unread, and when the owner last acknowledged one."""
        unit = self._log.unit
        names = MAILBOX_STATUS.keys(unit)
        return mailbox_status(
            await self._messaging.caller.call(MAILBOX_STATUS, unit, names, [self.name])
        )

    async def redefine(
        self,
        *,
        capacity: int | None = None,
        overflow: Overflow | None = None,
        op_id: str | None = None,
    ) -> None:
        """Change the settings of the mailbox for all clients, from the next message on.

        Args:
            capacity: how many messages may be unread, 1 to 100,000; None: unchanged.
            overflow: what a full mailbox does with a new message; None: unchanged.
            op_id: see `OutcomeUnknown`.
        """
        settings: list[tuple[str, str | bytes | int]] = []
        if capacity is not None:
            settings.append(("capacity", checked_int(capacity, "capacity", 1, MAX_KEPT)))
        if overflow is not None:
            settings.append(("overflow", checked_overflow(overflow)))
        if not settings:
            raise ValueError("nothing to change: give capacity, overflow or both")
        repeat = partial(self.redefine, capacity=capacity, overflow=overflow)
        await self._log.redefine(self.name, settings, op_id=op_id, repeat=repeat)
        self._capacity, self._overflow = capacity or self._capacity, overflow or self._overflow
        await self._messaging.catalog.note(self._log.unit)

    async def _read(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        own, log = self.name in after, self._log
        seen = after.get(self.name) or self._seen.of(self.name)
        args = (self.name, limit, REPLY_BYTES, 1, 1, position_text(seen, own=own))
        [found] = await self._messaging.caller.call(FETCH, log.unit, log.fetch_keys, args)
        reply = FetchReply.of(log.unit, found)
        lost = lost_since(reply, seen, own=own)
        if lost:
            self._seen.reset(self.name, reply)
        batch = batch_of(self.name, reply, lost)
        self._seen.note(self.name, batch.position)
        return [batch], self._units

    def _conflict(self, capacity: int, overflow: str) -> DefinitionConflict:
        what = str(self._log.unit)
        if self._capacity not in (None, capacity):
            return DefinitionConflict(f"the capacity of {what}", capacity, self._capacity)
        return DefinitionConflict(f"the overflow of {what}", overflow, self._overflow)
