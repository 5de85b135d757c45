# Generated from _async/mailbox.py by tools/unasync.py: edit that, then run `make sync`.
"""Provide the public class of mailboxes, for senders and owners."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from ...core.checks import checked_int
from ...core.clock import Duration
from ...core.definitions import OnConflict, checked_on_conflict, given_option, log_kept
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
from .messaging import Messaging
from .reader import MessageReader

DELIVER: Final = Script.load("holdfast.messages", "deliver")
MAILBOX_STATUS: Final = Script.load("holdfast.messages", "mailbox_status")


class Mailbox(MessageReader):
    """Send messages to a mailbox; or, as its owner, read and acknowledge them.

    Create the object with `Holdfast.mailbox`. All tasks and threads may share it. It remembers
    which messages it has returned, so it notices when the server loses messages.
    """

    def __init__(
        self,
        messaging: Messaging,
        name: str,
        capacity: int | None,
        overflow: Overflow | None,
        on_conflict: OnConflict,
    ) -> None:
        self.name: str = checked_name(name, "a mailbox")
        self._log = messaging.mailbox(name)
        super().__init__(messaging, self._log.unit)
        self._units = frozenset([self._log.unit])
        if capacity is not None:
            capacity = checked_int(capacity, "capacity", 1, MAX_KEPT)
        self._capacity = capacity
        self._overflow = None if overflow is None else checked_overflow(overflow)
        self._on_conflict = checked_on_conflict(on_conflict)

    def __repr__(self) -> str:
        return f"Mailbox({self.name!r})"

    def send(
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
            sender: name of the sender.
            per_sender: maximum number of unread messages that this sender sent with this option,
                but at most half of the capacity; None: no such limit.
            op_id: see `OutcomeUnknown`.

        Returns:
            The number of the message: 1 for the first message of a mailbox, then 2 and so on.

        Raises:
            MailboxFull: too many messages are unread, in all or of this sender. The message was not
                stored.
            DefinitionConflict: the mailbox has other settings, and `on_conflict` is `error`. The
                message was not stored.
            PayloadTooLarge: the body is over the limit.
        """
        checked_name(sender, "a sender")
        stored = encoded_body(body, self._log.message)
        if per_sender is not None:
            per_sender = checked_int(per_sender, "per_sender", 1, MAX_KEPT)
        repeat = partial(self.send, body, sender=sender, per_sender=per_sender)
        with self._messaging.caller.writers.operation(op_id, repeat, verb="send") as write:
            message = (self._log.channel, self.name, sender, stored)
            settings = (self._capacity, self._overflow)
            given = [given_option(setting, self._on_conflict) for setting in settings]
            reply = self._log.send(DELIVER, write, *message, *given, per_sender or "")
        match reply:
            case [b"full", stored_capacity, since_ms]:
                raise MailboxFull(self.name, int(stored_capacity), instant(since_ms))
            case [b"sender_full", most]:
                raise MailboxFull(self.name, int(most), None, sender=sender)
            case [b"conflict", stored_capacity, stored_overflow]:
                raise DefinitionConflict(*self._conflict(stored_capacity, stored_overflow))
            case [b"kept", number, stored_capacity, stored_overflow]:
                reply = number
                log_kept(*self._conflict(stored_capacity, stored_overflow))
        if not reply.isdigit():
            raise DecodeError(f"the ledger of {self._log.unit}", f"{reply[:40]!r} is no number")
        self._messaging.catalog.note(self._log.unit)
        return int(reply)

    def fetch(
        self,
        *,
        limit: int = 100,
        timeout: Duration | None = 0.0,
        after: Position | None = None,
    ) -> Batch:
        """Return the messages that are not acknowledged, the oldest first.

        The messages stay unread until you `ack` the batch.

        Args:
            limit: maximum number of messages, 1 to 1,000. There are fewer if they take more than
                4 MiB.
            timeout: seconds (or a timedelta) to wait for the first message; 0: do not wait; None:
                no limit.
            after: position of the last batch that this device has. The mailbox is read from this
                position on, even if another device of the owner has acknowledged more. If the
                server has lost messages that the device has, the batch has a `Gap` with the reason
                `reset`, and all messages that are kept are returned again.

        Returns:
            The batch. It is false if it has neither a message nor a gap.
        """
        known = {} if after is None else {self.name: after}
        [batch] = self._fetch(limit, timeout, checked_positions(known))
        return batch

    def ack(self, batch: Batch | int) -> None:
        """Acknowledge all messages of a batch, and all earlier messages.

        Harmless to repeat. Acknowledging an older batch later has no effect.

        Args:
            batch: a batch that `fetch` returned; or the number of a message, to acknowledge this
                message and all earlier ones.

        Raises:
            StaleBatch: the server lost the mailbox, or lost the last message of the batch (for a
                number: the last message that this object returned) and reused its number. Fetch
                again.
            NoSuchMessage: no message has this number yet.
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
            self._log.ack(self.name, read, position)
            self._seen.note(self.name, position)

    def latest(
        self, limit: int = 10, *, before: int | None = None, after: int | None = None
    ) -> list[Message | Undecodable]:
        """Return a page of messages that are kept, acknowledged or not, the oldest first.

        Args:
            limit: maximum number of messages, 1 to 1,000. There are fewer if they take more than
                4 MiB.
            before: return the newest messages before this number, to go back page by page; None:
                the newest messages of the mailbox.
            after: return the oldest messages after this number, to go forward page by page; None:
                use *before*.
        """
        limit = checked_int(limit, "limit", 1, MAX_LIMIT)
        check_edges(before, after)
        return self._log.page(limit, before=before, after=after)

    def status(self) -> MailboxStatus:
        """Return how many messages are unread, and when the owner last acknowledged one."""
        unit = self._log.unit
        names = MAILBOX_STATUS.keys(unit)
        return mailbox_status(self._messaging.caller.call(MAILBOX_STATUS, unit, names, [self.name]))

    def redefine(
        self,
        *,
        capacity: int | None = None,
        overflow: Overflow | None = None,
        op_id: str | None = None,
    ) -> None:
        """Change the settings of the mailbox for all clients, from the next message on.

        Args:
            capacity: maximum number of unread messages, 1 to 100,000; None: unchanged.
            overflow: `reject` or `drop_oldest`, for a message to a full mailbox; None: unchanged.
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
        self._log.redefine(self.name, settings, op_id=op_id, repeat=repeat)
        # An option that this object does not give stays so: it follows the stored one.
        self._capacity = self._capacity and (capacity or self._capacity)
        self._overflow = self._overflow and (overflow or self._overflow)
        self._messaging.catalog.note(self._log.unit)

    def _read(
        self, limit: int, after: Mapping[str, Position]
    ) -> tuple[list[Batch], frozenset[Unit]]:
        own, log = self.name in after, self._log
        seen = after.get(self.name) or self._seen.of(self.name)
        args = (self.name, limit, REPLY_BYTES, 1, 0, 0, position_text(seen, own=own), "")
        _, header, _, *entries = self._messaging.caller.call(FETCH, log.unit, log.fetch_keys, args)
        reply = FetchReply.of(log.unit, header, entries)
        lost = lost_since(reply, seen, own=own)
        if lost:
            self._seen.reset(self.name, reply)
        batch = batch_of(self.name, reply, lost)
        self._seen.note(self.name, batch.position)
        return [batch], self._units

    def _conflict(self, capacity: int | bytes, overflow: bytes) -> tuple[str, object, object]:
        """Return name, stored value and given value of the setting that differs."""
        if self._capacity not in (None, int(capacity)):
            return f"the capacity of {self._log.unit}", int(capacity), self._capacity
        return f"the overflow of {self._log.unit}", overflow.decode(), self._overflow
