"""What a search finds."""

from __future__ import annotations

from typing import Self

import msgspec


class Match(msgspec.Struct, frozen=True):
    """A name that was found.

    Attributes:
        name: as it was added.
        id: what it was added with; None: nothing.
    """

    name: str
    id: str | None = None

    @classmethod
    def parse(cls, member: bytes) -> Self:
        """The match of `key NUL name NUL id`."""
        _, name, id_ = member.split(b"\0")  # only what is told has to be decoded
        return cls(name.decode(), id_.decode() if id_ else None)
