# Generated from _async/sender.py by tools/unasync.py: edit that, then run `make sync`.
"""Where messages to chats leave from."""

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
from ..outgoing import MOST_BYTES, MOST_TOGETHER, OutgoingMessage, shared
from .log import Log

SEND: Final = Script.load("holdfast.messages", "send")


class ChatSender:
    """Sends to the chats of a client.

    What coroutines send to one chat at one moment shares a call, and so most of its price: the way,
    the clock, the ledger, the bell. Each keeps an identity, a trace and an answer of its own.

    Args:
        caller: how to reach the server.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._company: LocalResource[Batcher[Log, OutgoingMessage, bytes]] = LocalResource(
            lambda: Batcher(self._sent, MOST_TOGETHER, MOST_BYTES)
        )

    def send(self, log: Log, message: OutgoingMessage, op_id: str | None) -> bytes:
        """Send to the chat with that *log*: the number of the message; or missing, stranger."""
        telemetry = self._caller.settings.telemetry
        with during(telemetry, "send", log.unit) as sending:
            message.trace = stored(sending.trace).encode()  # what cannot be said, it alone hears of
            # A repeated one may still be under way; and whoever is told hears of each call.
            if op_id is None and telemetry is None:
                reply = self._company.get().submit(log, message, len(message.body))
            else:
                [reply] = self._sent(log, [message], op_id)
            if not reply.isdigit():
                sending.ended("refused", reply.decode())
        return reply

    def _sent(
        self, log: Log, messages: Sequence[OutgoingMessage], op_id: str | None = None
    ) -> Sequence[Any]:
        """What the server says of each of *letters*; or, of several, the error of each."""
        again = messages[0].again
        try:
            with self._caller.writers.operation(op_id, again, verb="send") as write:
                said: list[Argument] = [write.writer, write.number, log.channel]
                for place, message in enumerate(messages, write.place):
                    said += (place, message.sender, message.body, message.trace)
                reply: Sequence[bytes] = self._caller.call(
                    SEND, log.unit, SEND.keys(log.unit), said
                )
                return reply
        except HoldfastError as error:
            if len(messages) == 1:
                raise
            return shared(error, messages)
