"""What is written to a connection in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import hiredis
import msgspec

Part = str | bytes | int

_LARGE: Final = 1 << 14
"""Bytes of an argument from which on copying it costs more than packing the rest of a call."""


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
        """One call of a script by its hash. A tuple of keys comes again, so it is packed once."""
        pack = _opening if isinstance(keys, tuple) else _opening.__wrapped__
        size, opening = 3 + len(keys) + len(args), pack(sha1, keys)
        if any(len(each) > _LARGE for each in args if isinstance(each, bytes)):
            # Once over: to take the count off and put another before it would copy it all.
            return cls.of("EVALSHA", sha1, len(keys), *keys, *args)
        return cls(b"*%d\r\n%b%b" % (size, opening, _parts(tuple(args))))

    def __add__(self, other: Request) -> Request:
        return Request(self.payload + other.payload, self.replies + other.replies)

    def marked(self, mark: Request) -> Request:
        """This, and a *mark* after it: an error of the mark does not mean that this failed."""
        whole = self + mark
        return Request(whole.payload, whole.replies, mark.replies)


def _parts(command: tuple[Part, ...]) -> bytes:
    """The parts of a command, without how many they are."""
    packed: bytes = hiredis.pack_command(command)  # type: ignore[arg-type]
    return packed[packed.index(b"\n") + 1 :]


@lru_cache(maxsize=1024)
def _opening(sha1: str, keys: Sequence[str | bytes]) -> bytes:
    return _parts(("EVALSHA", sha1, len(keys), *keys))


ASKING: Final = Request.of("ASKING")
"""Goes before a request that an `ASK` redirected."""
