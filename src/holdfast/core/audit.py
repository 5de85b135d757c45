"""What an audit reads of a unit, and what it may say of it: no I/O.

Each block knows its own keys and what has to hold between them. Its `audit.py` has

    KINDS                       the kinds of units that it knows
    part(kind, name) -> Part    what the key called *name* of a unit is; None: nothing of ours
    others(unit) -> [name]      keys that there may be beside those in the `Snapshot` of a unit: one
                                may have come since they were listed
    wanted(unit) -> [(name, field)]     values of which the sizes are to be read as well
    faults(unit) -> [Fault]     what does not fit

Nothing is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from .names import Unit

Type = Literal["hash", "list", "set", "stream", "string", "zset"]
Reading = Literal["whole", "names", "count", "nothing"]


@dataclass(frozen=True, slots=True)
class Part:
    """What a key is.

    Attributes:
        type: of the key.
        expires: whether it has to; else it stays, or may do either.
        reading: what an audit needs of it: `whole`; the `names` of a hash's fields; the `count` of
            what it holds; `nothing`, of what is judged by its type and lifetime alone.
    """

    type: Type
    expires: bool = True
    reading: Reading = "whole"


class Span(NamedTuple):
    """Of a stream: how many entries it has, and the numbers of the first and the last one."""

    length: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was read of a unit: what is missing is empty.

    Attributes:
        unit: which one.
        contents: by part. Hashes and sorted sets as dicts, lists and sets as they are, strings as
            bytes, a stream as a `Span`; what is only counted as a number.
        sizes: by part and field, the bytes of values that `faults` asked for.
    """

    unit: Unit
    contents: Mapping[str, Any]
    sizes: Mapping[tuple[str, bytes], int] = field(default_factory=dict)

    def has(self, part: str) -> bool:
        """Return whether the key exists."""
        return part in self.contents

    def hash(self, part: str) -> Mapping[bytes, bytes]:
        """Return a hash. If only its names are read, the values are empty."""
        return self.contents.get(part, {})  # type: ignore[no-any-return]

    def zset(self, part: str) -> Mapping[bytes, float]:
        """Return a sorted set: member → score."""
        return self.contents.get(part, {})  # type: ignore[no-any-return]

    def list(self, part: str) -> Sequence[bytes]:
        """Return a list."""
        return self.contents.get(part, ())  # type: ignore[no-any-return]

    def set(self, part: str) -> frozenset[bytes]:
        """Return a set."""
        return self.contents.get(part, frozenset())  # type: ignore[no-any-return]

    def string(self, part: str) -> bytes:
        """Return a string."""
        return self.contents.get(part, b"")  # type: ignore[no-any-return]

    def count(self, part: str) -> int:
        """Return how many elements a key holds that is only counted."""
        return self.contents.get(part, 0)  # type: ignore[no-any-return]

    def stream(self, part: str) -> Span:
        """Return a stream."""
        return self.contents.get(part, Span(0, 0, 0))  # type: ignore[no-any-return]


class Fault(NamedTuple):
    """Something that does not fit; the same words each time that it is found.

    Attributes:
        part: in which key.
        what: in a sentence.
    """

    part: str
    what: str


_DIGITS: Final = 19
"""Of a number of 64 bits."""

LEDGER: Final = Part("hash", reading="nothing")
"""Of each unit, `ledger:0` and `ledger:1`."""


def number(text: bytes | None) -> int | None:
    """Return *text* as a whole number of 64 bits; None if it is none."""
    if text is None or len(text) > _DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return int(text)


def shown(text: bytes) -> str:
    """Return a member or field, for a sentence."""
    return repr(text.decode(errors="backslashreplace"))
