"""What is written to a connection in one piece."""

from __future__ import annotations

from typing import Final

import hiredis
import msgspec


class Request(msgspec.Struct, frozen=True):
    """Packed commands that belong together, and how many replies they will have."""

    payload: bytes
    replies: int = 1

    @classmethod
    def of(cls, *command: str | bytes | int) -> Request:
        """One command."""
        return cls(hiredis.pack_command(command))  # type: ignore[arg-type]

    def __add__(self, other: Request) -> Request:
        return Request(self.payload + other.payload, self.replies + other.replies)


ASKING: Final = Request.of("ASKING")
"""Goes before a request that an `ASK` redirected."""
