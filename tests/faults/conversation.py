"""Which request does this reply answer? The bookkeeping of one connection.

The server answers in order, so a queue would do, were it not for subscriptions: their
confirmations are pushes ("*" in RESP2, ">" in RESP3), one for each channel, and further pushes
come in between. The first confirmation counts as the reply.
"""

import asyncio
from collections import deque

from faults.resp import first_word

CONFIRMATIONS = {
    *("SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"),
    *("UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"),
}
PUSHES = {*CONFIRMATIONS, "MESSAGE", "PMESSAGE", "SMESSAGE"}


class Conversation:
    """The requests of a connection that are not answered yet."""

    def __init__(self) -> None:
        self._open: deque[bytes] = deque()
        self._subscriber = False
        self._resp3 = False
        self.quiet = asyncio.Event()  # set: every request is answered
        self.quiet.set()

    def asked(self, request: bytes) -> None:
        """Take note of a request."""
        self._subscriber |= first_word(request) in CONFIRMATIONS
        self._open.append(request)
        self.quiet.clear()

    def answered(self, frame: bytes) -> bytes | None:
        """Return the request which this frame answers, or None if it is a push."""
        if self._is_push(frame):
            confirms = first_word(frame) in CONFIRMATIONS and self._awaits_confirmation()
            return self._close() if confirms else None
        request = self._close()
        if first_word(request) == "HELLO":
            self._resp3 = frame.startswith(b"%")
        return request

    def _close(self) -> bytes:
        request = self._open.popleft() if self._open else b""
        if not self._open:
            self.quiet.set()
        return request

    def _awaits_confirmation(self) -> bool:
        return bool(self._open) and first_word(self._open[0]) in CONFIRMATIONS

    def _is_push(self, frame: bytes) -> bool:
        if self._resp3 or not self._subscriber:
            return frame.startswith(b">")
        return frame.startswith(b"*") and first_word(frame) in PUSHES
