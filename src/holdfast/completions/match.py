"""Define the result of a search."""

from __future__ import annotations

from typing import Self

import msgspec

from ..errors import DecodeError


class Match(msgspec.Struct, frozen=True):
    """A name that a search found.

    Attributes:
        name: the name as it was added.
        id: the id that was added with the name; None: the name was added without an id.
    """

    name: str
    id: str | None = None

    @classmethod
    def parse(cls, member: bytes, index: str) -> Self:
        """Return the match for an entry `key NUL name NUL id` of the key *index*.

        Raises:
            DecodeError: *member* has another form.
        """
        try:
            _, name, id_ = member.split(b"\0")
            return cls(name.decode(), id_.decode() if id_ else None)
        except ValueError as error:
            raise DecodeError(f"member {member[:80]!r} of {index}", str(error)) from error
