"""Define the interface between the audit and the blocks. No I/O.

The audit lists the keys of a unit, reads them into a `Snapshot`, and passes it to the checks of the
block. Each block has a file `audit.py` with

    KINDS                       the kinds of units that the block has
    part(kind, name) -> Part    the expected type and lifetime of the key *name* of a unit; None if
                                Holdfast stores no key of that name
    others(unit) -> [name]      names of keys to read even if the listing did not have them, because
                                they may have been created since
    wanted(unit) -> [(name, field)]     fields of hashes; the audit adds the sizes of their values
    faults(unit) -> [Fault]     the inconsistencies in the `Snapshot` of a unit

An audit writes nothing.
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
    """The expected type and lifetime of a key, and how much of the key an audit reads.

    Attributes:
        type: type of the key.
        expires: whether the key must have a lifetime; if False, it may have one or not.
        reading: what an audit reads: the `whole` content; the field `names` of a hash; the `count`
            of elements; or `nothing` but the type and the lifetime.
    """

    type: Type
    expires: bool = True
    reading: Reading = "whole"


class Span(NamedTuple):
    """The number of entries of a stream, and the numbers of the first and the last entry."""

    length: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of a unit's keys. A key that does not exist reads as empty.

    Attributes:
        unit: the unit.
        contents: name of a key → content: a dict for a hash or sorted set; a list; a set; bytes for
            a string; a `Span` for a stream; a number for a key if only its elements are counted.
        sizes: (name of a hash, field) → size in bytes of the value, for the fields that the
            function `wanted` of the block returned.
    """

    unit: Unit
    contents: Mapping[str, Any]
    sizes: Mapping[tuple[str, bytes], int] = field(default_factory=dict)

    def has(self, part: str) -> bool:
        """Return whether the key *part* exists."""
        return part in self.contents

    def hash(self, part: str) -> Mapping[bytes, bytes]:
        """Return the hash *part*. If only its field names are read, the values are empty."""
        return self.contents.get(part, {})  # type: ignore[no-any-return]

    def zset(self, part: str) -> Mapping[bytes, float]:
        """Return the sorted set *part*: member → score."""
        return self.contents.get(part, {})  # type: ignore[no-any-return]

    def list(self, part: str) -> Sequence[bytes]:
        """Return the list *part*."""
        return self.contents.get(part, ())  # type: ignore[no-any-return]

    def set(self, part: str) -> frozenset[bytes]:
        """Return the set *part*."""
        return self.contents.get(part, frozenset())  # type: ignore[no-any-return]

    def string(self, part: str) -> bytes:
        """Return the string *part*."""
        return self.contents.get(part, b"")  # type: ignore[no-any-return]

    def count(self, part: str) -> int:
        """Return the number of elements of the key *part*, if its reading is `count`."""
        return self.contents.get(part, 0)  # type: ignore[no-any-return]

    def stream(self, part: str) -> Span:
        """Return the length of the stream *part*, and the numbers of its first and last entry."""
        return self.contents.get(part, Span(0, 0, 0))  # type: ignore[no-any-return]


class Fault(NamedTuple):
    """An inconsistency in the keys of a unit. The same inconsistency always has the same text.

    Attributes:
        part: name of the key, without the prefix of the unit.
        what: the inconsistency, in a sentence.
    """

    part: str
    what: str


_DIGITS: Final = 19
"""Largest number of digits of a number of 64 bits."""

LEDGER: Final = Part("hash", reading="nothing")
"""The expectations for the keys `ledger:0` and `ledger:1` (see `ledger.py`), which every unit may
have."""


def number(text: bytes | None) -> int | None:
    """Return *text* as a whole number of at most 19 digits; None if it is not such a number."""
    if text is None or len(text) > _DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return int(text)


def shown(text: bytes) -> str:
    """Return a member or field as quoted text, for a message."""
    return repr(text.decode(errors="backslashreplace"))
