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


class Form:
    """A call of a script, packed but for its first argument: so each costs a fifth of packing it.

    Args:
        sha1: of the script.
        keys: the keys.
        rest: the arguments after the first one.
    """

    __slots__ = ("_after", "_before")

    def __init__(self, sha1: str, keys: Sequence[str | bytes], *rest: Part) -> None:
        before: tuple[Part, ...] = ("EVALSHA", sha1, len(keys), *keys)
        self._before = b"*%d\r\n%b" % (len(before) + 1 + len(rest), _packed(before))
        self._after = _packed(rest)

    def filled(self, first: str) -> Request:
        """The call with this *first* argument."""
        said = first.encode()
        return Request(b"%b$%d\r\n%b\r\n%b" % (self._before, len(said), said, self._after))


def _packed(parts: Sequence[Part]) -> bytes:
    """*parts* of a command, without the header that counts them."""
    whole: bytes = hiredis.pack_command(tuple(parts))  # type: ignore[arg-type]
    return whole.partition(b"\r\n")[2]


ASKING: Final = Request.of("ASKING")
"""Goes before a request that an `ASK` redirected."""
