"""RESP framing: where one request or one reply ends and the next begins.

Requests are arrays of bulk strings, or one line ("inline"). Replies are any value of RESP2 or
RESP3; an attribute ("|") belongs to the value after it. Values are measured, not decoded: each
element is a line, a line with bytes after it, or a line that announces more elements, so counting
the elements still missing is enough, however deep they nest.

https://valkey.io/topics/protocol/
"""

import re

BULKS = b"$!="
AGGREGATES = {ord("*"): 1, ord("~"): 1, ord(">"): 1, ord("%"): 2, ord("|"): 2}
ATTRIBUTE = ord("|")

_FIRST_WORD = re.compile(rb"[*>]\d+\r\n\$\d+\r\n([^\r]*)\r\n|([^\r\s]*)")


class Framer:
    """Cuts one direction of a connection into whole requests or replies."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._scanned = 0  # bytes of the buffer that are measured already
        self._missing = 1  # elements until the present frame is whole

    @property
    def rest(self) -> bytes:
        """Return the bytes of a frame that is not complete yet."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """Take received bytes; return the frames that they complete, unchanged."""
        self._buffer += data
        frames = []
        while self._measure():
            frames.append(bytes(self._buffer[: self._scanned]))
            del self._buffer[: self._scanned]
            self._scanned, self._missing = 0, 1
        return frames

    def _measure(self) -> bool:
        while self._missing:
            line_end = self._buffer.find(b"\r\n", self._scanned)
            if line_end < 0:
                return False
            kind, end = self._buffer[self._scanned], line_end + 2
            if kind in BULKS or kind in AGGREGATES:
                size = max(int(self._buffer[self._scanned + 1 : line_end]), -1)  # -1: null
                if kind in AGGREGATES:
                    self._missing += max(size, 0) * AGGREGATES[kind]
                elif size >= 0:
                    end += size + 2
                if end > len(self._buffer):
                    return False
            self._missing -= kind != ATTRIBUTE
            self._scanned = end
        return True


def first_word(frame: bytes) -> str:
    """Return the command of a request or the kind of a push, in capitals."""
    found = _FIRST_WORD.match(frame)
    assert found is not None  # the pattern matches everything
    return (found[1] or found[2] or b"").decode(errors="replace").upper()
