"""Parse the stored offset up to which a file is counted."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_STORED: Final = re.compile(rb"([0-9]{1,15}) [^ ]+(?: ([0-9]{1,6}-[0-9a-f]{32}))?")


class FilePosition(NamedTuple):
    """Hold the offset up to which a file is counted.

    Attributes:
        offset: the offset.
        mark: digest that distinguishes the file up to the offset from others with the same id; may
            be empty.
    """

    offset: int
    mark: str

    @classmethod
    def parse(cls, stored: bytes) -> FilePosition:
        """Parse a value that `lua/commit.lua` has stored.

        Raises:
            ValueError: *stored* has another format.
        """
        found = _STORED.fullmatch(stored)
        if found is None:
            raise ValueError("the position of a file is not `offset token mark`")
        return cls(int(found[1]), (found[2] or b"").decode())


def numbered_id(file_id: str, n: int) -> str:
    """Return the id under which the tally stores the file number *n* (from 0) of those with the id
    *file_id*."""
    return f"{file_id}~{n}" if n else file_id
