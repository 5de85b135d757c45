"""What is written to a connection in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import hiredis
import msgspec

Part = str | bytes | int


class Request(msgspec.Struct, frozen=True):
    """Packed commands that belong together.

    Attributes:
        payload: the commands.
        replies: how many there will be.
        marks: how many of these, the last ones, are no part of the answer (`marked`).
    """

    payload: bytes
    replies: int = 1
    marks: int = 0

    @classmethod
    def of(cls, *command: Part) -> Request:
        """One command."""
        return cls(hiredis.pack_command(command))  # type: ignore[arg-type]

    @classmethod
    def of_script(cls, sha1: str, keys: Sequence[str | bytes], args: Sequence[Part]) -> Request:
        """One call of a script by its hash."""
        command = ("EVALSHA", sha1, len(keys), *keys, *args)
        return cls(hiredis.pack_command(command))  # type: ignore[arg-type]

    def __add__(self, other: Request) -> Request:
        return Request(self.payload + other.payload, self.replies + other.replies)

    def marked(self, mark: Request) -> Request:
        """This, and a *mark* after it: an error of the mark does not mean that this failed."""
        whole = self + mark
        return Request(whole.payload, whole.replies, mark.replies)


ASKING: Final = Request.of("ASKING")
"""Goes before a request that an `ASK` redirected."""
