"""What is written to a connection in one piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

import hiredis
import msgspec

Part = str | bytes | int

_TEXT: Final = (str, bytes)


class CallKind(StrEnum):
    """Calls of different kinds do not wait for each other: each kind has a connection of its own.

    Attributes:
        ORDINARY: all others.
        RENEWAL: calls that renew leases.
        BULK: calls that carry chunks of files.
    """

    ORDINARY = "ordinary"
    RENEWAL = "renewal"
    BULK = "bulk"


def packed(command: Iterable[Part]) -> bytes:
    """Return *command* in the protocol of the server.

    Only text goes to hiredis. It formats a number with `str()`, which may run a signal handler, and
    when that handler raises, hiredis 3 reads a null pointer: the process ends with a segmentation
    fault.
    """
    whole: bytes = hiredis.pack_command(tuple(texts(command)))  # type: ignore[arg-type]
    return whole


def texts(parts: Iterable[Part]) -> list[str | bytes]:
    """Return *parts* with each number as text, quickly: every call needs it."""
    return [
        part if type(part) is str else f"{part}" if type(part) is int else _text(part)
        for part in parts
    ]


def _text(part: Part) -> str | bytes:
    return part if isinstance(part, _TEXT) else int.__repr__(part)


class Packer:
    """Packs the commands that redis-py sends by itself, such as `SELECT 3`."""

    def pack(self, *command: Part) -> list[bytes]:
        """Return the bytes of *command*. Its first part may hold several words."""
        first, *rest = command
        assert isinstance(first, _TEXT)
        return [packed([*first.split(), *rest])]


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
        """Return the request of one command."""
        return cls(packed(command))

    @classmethod
    def of_script(cls, sha1: str, keys: Sequence[str | bytes], args: Sequence[Part]) -> Request:
        """Return the request that calls a script by its hash."""
        parts = ("EVALSHA", sha1, f"{len(keys)}", *keys, *texts(args))  # keys are text
        return cls(hiredis.pack_command(parts))  # type: ignore[arg-type]

    def __add__(self, other: Request) -> Request:
        return Request(self.payload + other.payload, self.replies + other.replies)

    def marked(self, mark: Request) -> Request:
        """Return this and a *mark*. An error of the mark does not mean that this failed."""
        whole = self + mark
        return Request(whole.payload, whole.replies, mark.replies)


class PreparedCommand:
    """A call of a script, packed but for its first argument: so each costs a fifth of packing it.

    Args:
        sha1: of the script.
        keys: the keys.
        rest: the arguments after the first one.
    """

    __slots__ = ("_after", "_before")

    def __init__(self, sha1: str, keys: Sequence[str | bytes], *rest: Part) -> None:
        before: tuple[Part, ...] = ("EVALSHA", sha1, len(keys), *keys)
        self._before = b"*%d\r\n%b" % (len(before) + 1 + len(rest), _parts(before))
        self._after = _parts(rest)

    def filled(self, first: str) -> Request:
        """Return the request with this *first* argument."""
        text = first.encode()
        return Request(b"%b$%d\r\n%b\r\n%b" % (self._before, len(text), text, self._after))


def _parts(parts: Sequence[Part]) -> bytes:
    """Return *parts* of a command, without the header that counts them."""
    return packed(parts).partition(b"\r\n")[2]


ASKING: Final = Request.of("ASKING")
"""Goes before a request that an `ASK` redirected."""
