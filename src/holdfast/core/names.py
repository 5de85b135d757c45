"""Names of users, turned into keys of the server.

A *unit* (a queue, a lock, a chat, …) is what lives in one hash slot and is changed atomically. All
its keys share one hash tag:

    fakegame:{queue:email}:bodies
    └─namespace   └─kind └─name

so `~fakegame:*` is an ACL pattern that matches everything of a namespace and nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from redis.crc import key_slot

from ..errors import InvalidName

MAX_NAME_BYTES = 512
"""Of an encoded name. Keys are repeated in every call, so long ones cost everywhere."""

# What keys may hold as it is: letters and digits of ASCII and a few signs. Left out are the
# separators of keys (`:` `{` `}`), the escape itself, glob characters (an ACL rule and SCAN match
# with them), blanks and controls, and all letters that look alike but differ in bytes.
_ESCAPED = re.compile(rb"[^A-Za-z0-9_.@+=,/~!$&'()#;<>|^-]")

_PLAIN = re.compile(r"[A-Za-z0-9_.@+=,/~!$&'()#;<>|^-]{1,512}")  # nothing in it is escaped

_EMPTY = "%"  # an escape without its two digits: no other name encodes to this


def encode_name(name: str) -> str:
    """Return *name* as part of a key. Different names have different keys.

    Raises:
        InvalidName: it holds half a surrogate pair, or encodes to more than `MAX_NAME_BYTES`.
        TypeError: it is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name must be a str, got {type(name).__name__}")
    if type(name) is str and _PLAIN.fullmatch(name):  # a kind of str may show as something else
        return name
    try:
        raw = name.encode()
    except UnicodeEncodeError as error:
        raise InvalidName(name, f"not valid Unicode at position {error.start}") from None
    if len(raw) > MAX_NAME_BYTES:
        raise InvalidName(name, f"it takes {len(raw)} bytes, the limit is {MAX_NAME_BYTES}")
    encoded = _ESCAPED.sub(lambda match: b"%%%02X" % match[0][0], raw).decode() or _EMPTY
    if len(encoded) > MAX_NAME_BYTES:
        raise InvalidName(
            name, f"it takes {len(encoded)} bytes as a key, the limit is {MAX_NAME_BYTES}"
        )
    return encoded


def decode_name(encoded: str) -> str:
    """Return the name that `encode_name` was given."""
    if encoded == _EMPTY:
        return ""
    return re.sub(
        rb"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), encoded.encode()
    ).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Unit:
    """One named thing in one hash slot.

    Attributes:
        kind: the block's word for it, such as `queue`.
        name: as the user gave it.
        prefix: what all its keys and channels start with.
        slot: its hash slot, 0 to 16383.
    """

    kind: str
    name: str
    prefix: str
    slot: int = field(compare=False)

    def key(self, part: str) -> str:
        """Return the key, or the channel, of one *part* of the unit."""
        return self.prefix + part

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


@dataclass(frozen=True, slots=True)
class Namespace:
    """The prefix that keeps one application's units apart from another's on the same server."""

    name: str
    prefix: str

    @classmethod
    def of(cls, name: str) -> Namespace:
        """Return the namespace called *name*. Raise as `encode_name`."""
        return cls(name, encode_name(name) + ":")

    def unit(self, kind: str, name: str) -> Unit:
        """Return the unit of this *kind* and *name*."""
        prefix = f"{self.prefix}{{{kind}:{encode_name(name)}}}:"
        return Unit(kind, name, prefix, key_slot(prefix.encode()))
