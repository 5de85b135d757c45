"""What is sent: log lines, and bytes that do not get smaller."""

from __future__ import annotations

import io
import random
from typing import Any, Final

from holdfast.files.chunk import BLOCK

LINES: Final = 100_000
_EVENTS: Final = ("login", "logout", "trade", "chat")


def log_lines(count: int = LINES) -> bytes:
    """Lines of about 45 bytes: address, date, time, event."""
    rng = random.Random(1)
    return b"".join(
        b"%d.%d.%d.%d 2011-10-%02d %02d:%02d:%02d %s\n"
        % (
            *rng.randbytes(4),
            rng.randrange(1, 29),
            rng.randrange(24),
            rng.randrange(60),
            rng.randrange(60),
            rng.choice(_EVENTS).encode(),
        )
        for _ in range(count)
    )


def noise(chunks: int) -> bytes:
    """Return so many different chunks of random bytes."""
    return random.Random(2).randbytes(chunks * BLOCK)


class Repeated(io.RawIOBase):
    """A stream of the same bytes again and again, which costs no memory."""

    def __init__(self, data: bytes, size: int) -> None:
        self._data = memoryview(data)
        self._left = size
        self._at = 0

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        count = min(len(buffer), self._left, len(self._data) - self._at)
        buffer[:count] = self._data[self._at : self._at + count]
        self._at = (self._at + count) % len(self._data)
        self._left -= count
        return count
