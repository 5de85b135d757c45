"""Convert names that users give to keys on the server.

A *unit* is one named object: a queue, a lock, a chat, and so on. All its keys share one hash tag,
so they are in one hash slot, and a script can change them atomically:

    fakegame:{queue:email}:bodies
    └─namespace   └─kind └─name

All keys of a namespace, and no others, match the ACL pattern `~fakegame:*`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from redis.crc import key_slot

from ..errors import InvalidName

MAX_NAME_BYTES = 512
"""Largest size of an encoded name. Every call repeats the name in its keys."""

# All bytes are escaped except ASCII letters, digits and some signs. So escaped are: the separators
# of keys (`:` `{` `}`), the escape character `%`, glob characters (special in ACL rules and SCAN),
# blanks, control characters, and all other letters.
_ESCAPED = re.compile(rb"[^A-Za-z0-9_.@+=,/~!$&'()#;<>|^-]")

_PLAIN = re.compile(r"[A-Za-z0-9_.@+=,/~!$&'()#;<>|^-]{1,512}")
"""A name in which no character is escaped."""

_EMPTY = "%"
"""The encoded form of the empty name. In other names, digits follow each `%`."""


def encode_name(name: str) -> str:
    """Return *name* encoded for use in a key. Different names are encoded differently.

    Raises:
        InvalidName: *name* has an unpaired surrogate, or takes more than `MAX_NAME_BYTES` encoded.
        TypeError: *name* is not a str.
    """
    name = plain_text(name)
    if _PLAIN.fullmatch(name):
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


def plain_text(text: str) -> str:
    """Return *text* as a plain str.

    A subclass of str may format itself differently, such as `class Plan(str, Enum)`.

    Raises:
        TypeError: *text* is not a str.
    """
    if not isinstance(text, str):
        raise TypeError(f"a name must be a str, got {type(text).__name__}")
    return text if type(text) is str else str.__str__(text)


def decode_name(encoded: str) -> str:
    """Return the name that `encode_name` encoded as *encoded*."""
    if encoded == _EMPTY:
        return ""
    return re.sub(
        rb"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), encoded.encode()
    ).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class Unit:
    """One named object, such as a queue or a lock, with all its keys in one hash slot.

    Attributes:
        kind: kind of the object, such as `queue`.
        name: name of the object as the user gave it.
        prefix: the beginning of all its keys and channels.
        slot: its hash slot, 0 to 16383.
    """

    kind: str
    name: str
    prefix: str
    slot: int = field(compare=False)

    def key(self, part: str) -> str:
        """Return the key, or the channel, that ends in *part*."""
        return self.prefix + part

    @property
    def channel(self) -> str:
        """Return the channel on which its followers are notified of changes."""
        return self.prefix + "notify"

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


@dataclass(frozen=True, slots=True)
class Namespace:
    """A prefix that separates the units of different applications on one server."""

    name: str
    prefix: str

    @classmethod
    def of(cls, name: str) -> Namespace:
        """Return the namespace *name*. Raise as `encode_name`."""
        return cls(name, encode_name(name) + ":")

    def unit(self, kind: str, name: str) -> Unit:
        """Return the unit of this *kind* and *name*."""
        prefix = f"{self.prefix}{{{kind}:{encode_name(name)}}}:"
        return Unit(kind, plain_text(name), prefix, key_slot(prefix.encode()))
