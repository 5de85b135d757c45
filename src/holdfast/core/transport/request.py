"""Pack commands into requests: bytes that are written to a connection as one piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final

import hiredis
import msgspec

Part = str | bytes | int

_TEXT: Final = (str, bytes)


class CallKind(StrEnum):
    """The kind of a call. Each kind has a connection of its own, so kinds do not delay each other.

    Attributes:
        ORDINARY: all calls except the following ones.
        RENEWAL: calls that renew leases.
        BULK: calls that carry chunks of files.
    """

    ORDINARY = "ordinary"
    RENEWAL = "renewal"
    BULK = "bulk"


def packed(command: Iterable[Part]) -> bytes:
    """Return *command* as bytes of the server's protocol.

    Convert numbers to text first. hiredis would call `str()`, which may run a signal handler; if
    that raises, hiredis 3 crashes the process with a segmentation fault.
    """
    whole: bytes = hiredis.pack_command(tuple(texts(command)))  # type: ignore[arg-type]
    return whole


def texts(parts: Iterable[Part]) -> list[str | bytes]:
    """Return *parts* with each number as text. This is fast, because every call uses it."""
    return [
        part if type(part) is str else f"{part}" if type(part) is int else _text(part)
        for part in parts
    ]


def _text(part: Part) -> str | bytes:
    return part if isinstance(part, _TEXT) else int.__repr__(part)


class Packer:
    """Packs the commands that redis-py sends by itself, such as `SELECT 3`."""

    def pack(self, *command: Part) -> list[bytes]:
        """Return the bytes of *command*. Its first part may consist of several words."""
        first, *rest = command
        assert isinstance(first, _TEXT)
        return [packed([*first.split(), *rest])]


class Request(msgspec.Struct, frozen=True):
    """Packed commands that are sent together and have one outcome.

    Attributes:
        payload: the packed commands.
        replies: number of replies to the commands.
        marks: how many replies at the end belong to a marker (see `marked`).
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
        parts = ("EVALSHA", sha1, f"{len(keys)}", *keys, *texts(args))  # Keys are always text.
        return cls(hiredis.pack_command(parts))  # type: ignore[arg-type]

    def __add__(self, other: Request) -> Request:
        return Request(self.payload + other.payload, self.replies + other.replies)

    def marked(self, mark: Request) -> Request:
        """Return this request followed by the marker *mark*.

        An error of the marker does not mean that this request failed.
        """
        whole = self + mark
        return Request(whole.payload, whole.replies, mark.replies)


class PreparedCommand:
    """A call of a script in which only the first argument varies. The rest is packed in advance.

    Filling in the argument takes a fifth of the time of packing the whole call.

    Args:
        sha1: hash of the script.
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
    """Return *parts* packed, without the header with their number."""
    return packed(parts).partition(b"\r\n")[2]


ASKING: Final = Request.of("ASKING")
"""Precedes a request that an `ASK` redirected."""
