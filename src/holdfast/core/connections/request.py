"""What is written to a connection in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import hiredis
import msgspec

Part = str | bytes | int


class Request(msgspec.Struct, frozen=True):
    """Packed commands that belong together, and how many replies they will have."""

    payload: bytes
    replies: int = 1

    @classmethod
    def of(cls, *command: Part) -> Request:
        """One command."""
        return cls(hiredis.pack_command(command))  # type: ignore[arg-type]

    @classmethod
    def of_script(cls, sha1: str, keys: Sequence[str | bytes], args: Sequence[Part]) -> Request:
        """One call of a script by its hash."""
        return cls.of("EVALSHA", sha1, len(keys), *keys, *args)

    def __add__(self, other: Request) -> Request:
        return Request(self.payload + other.payload, self.replies + other.replies)


ASKING: Final = Request.of("ASKING")
"""Goes before a request that an `ASK` redirected."""
