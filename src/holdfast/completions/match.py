"""What a search finds."""

from __future__ import annotations

from typing import Self

import msgspec

from ..errors import DecodeError


class Match(msgspec.Struct, frozen=True):
    """A name that was found.

    Attributes:
        name: as it was added.
        id: what it was added with; None: nothing.
    """

    name: str
    id: str | None = None

    @classmethod
    def parse(cls, member: bytes, index: str) -> Self:
        """Return the match of `key NUL name NUL id`, a member of *index*.

        Raises:
            DecodeError: It is not one.
        """
        try:
            _, name, id_ = member.split(b"\0")  # only what is told has to be decoded
            return cls(name.decode(), id_.decode() if id_ else None)
        except ValueError as error:
            raise DecodeError(f"member {member[:80]!r} of {index}", str(error)) from error
