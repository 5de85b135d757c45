"""Send messages to chats, several messages in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...core._async.caller import Argument, AsyncCaller
from ...core.concurrency._async.batcher import Batcher
from ...core.concurrency._async.local_resource import LocalResource
from ...core.script import Script
from ...core.telemetry import during
from ...core.trace import stored
from ...errors import HoldfastError
from ..outgoing import MAX_BYTES, MAX_MESSAGES, OutgoingMessage, errors_of
from .log import AsyncLog

SEND: Final = Script.load("holdfast.messages", "send")


class AsyncChatSender:
    """Send messages to the chats of a client.

    Messages that are sent to the same chat at the same time share a call, which costs much less
    than one call for each. Each message has its own operation id, trace and reply.

    Args:
        caller: calls the server.
    """

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller
        self._batcher: LocalResource[Batcher[AsyncLog, OutgoingMessage, bytes]] = LocalResource(
            lambda: Batcher(self._call, MAX_MESSAGES, MAX_BYTES)
        )

    async def send(self, log: AsyncLog, message: OutgoingMessage, op_id: str | None) -> bytes:
        """Send *message* to the chat with this *log*.

        Returns:
            The number of the message; or `missing` or `not_member`, as `send.lua` replies.
        """
        with during(self._caller.settings.telemetry, "send", log.unit) as sending:
            # Encode the trace here, so that an error concerns only this message.
            message.trace = stored(sending.trace).encode()
            if op_id is None:
                reply = await self._batcher.get().submit(log, message, len(message.body))
            else:  # a call has only one operation id, so a message with its own is sent alone
                [reply] = await self._call(log, [message], op_id)
            if not reply.isdigit():
                sending.ended("refused", reply.decode())
        return reply

    async def _call(
        self, log: AsyncLog, messages: Sequence[OutgoingMessage], op_id: str | None = None
    ) -> Sequence[Any]:
        """Send *messages* in one call.

        Returns:
            The reply for each message. If a call with several messages fails: an error for each.

        Raises:
            HoldfastError: the call with a single message failed.
        """
        try:
            writers = self._caller.writers
            with writers.operation(op_id, messages[0].repeat, verb="send") as write:
                args: list[Argument] = [write.writer, write.number, log.channel]
                for place, message in enumerate(messages, write.place):
                    args += (place, message.sender, message.body, message.trace)
                reply: Sequence[bytes] = await self._caller.call(
                    SEND, log.unit, SEND.keys(log.unit), args
                )
                return reply
        except HoldfastError as error:
            if len(messages) == 1:
                raise
            return errors_of(error, messages)
