# Generated from _async/sender.py by tools/unasync.py: edit that, then run `make sync`.
"""Sends messages to chats, several of them in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...core._sync.caller import Argument, Caller
from ...core.concurrency._sync.batcher import Batcher
from ...core.concurrency._sync.local_resource import LocalResource
from ...core.script import Script
from ...core.telemetry import during
from ...core.trace import stored
from ...errors import HoldfastError
from ..outgoing import MAX_BYTES, MAX_MESSAGES, OutgoingMessage, errors_of
from .log import Log

SEND: Final = Script.load("holdfast.messages", "send")


class ChatSender:
    """Sends to the chats of a client.

    Messages that coroutines send to one chat at the same time share a call, and so most of its
    cost. Each message keeps an operation id, a trace and an answer of its own.

    Args:
        caller: makes the calls.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._batcher: LocalResource[Batcher[Log, OutgoingMessage, bytes]] = LocalResource(
            lambda: Batcher(self._call, MAX_MESSAGES, MAX_BYTES)
        )

    def send(self, log: Log, message: OutgoingMessage, op_id: str | None) -> bytes:
        """Send *message* to the chat with this *log*.

        Returns:
            The number of the message; or `missing` or `not_member`, as `send.lua` replies.
        """
        telemetry = self._caller.settings.telemetry
        with during(telemetry, "send", log.unit) as sending:
            # Encode here: a trace that cannot be encoded must not fail the other messages.
            message.trace = stored(sending.trace).encode()
            # A repeated message has an id of its own, and telemetry reports each call.
            if op_id is None and telemetry is None:
                reply = self._batcher.get().submit(log, message, len(message.body))
            else:
                [reply] = self._call(log, [message], op_id)
            if not reply.isdigit():
                sending.ended("refused", reply.decode())
        return reply

    def _call(
        self, log: Log, messages: Sequence[OutgoingMessage], op_id: str | None = None
    ) -> Sequence[Any]:
        """Return the reply for each message; if a call with several fails, an error for each.

        Raises:
            HoldfastError: the call had one message, and failed.
        """
        try:
            writers = self._caller.writers
            with writers.operation(op_id, messages[0].repeat, verb="send") as write:
                args: list[Argument] = [write.writer, write.number, log.channel]
                for place, message in enumerate(messages, write.place):
                    args += (place, message.sender, message.body, message.trace)
                reply: Sequence[bytes] = self._caller.call(
                    SEND, log.unit, SEND.keys(log.unit), args
                )
                return reply
        except HoldfastError as error:
            if len(messages) == 1:
                raise
            return errors_of(error, messages)
