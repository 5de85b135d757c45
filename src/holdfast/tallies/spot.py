"""Up to where a file is counted."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_STORED: Final = re.compile(rb"([0-9]{1,15}) [^ ]+(?: ([0-9]{1,6}-[0-9a-f]{32}))?")


class Spot(NamedTuple):
    """Up to where a file is counted.

    Attributes:
        offset: bytes of it that are.
        mark: tells the file from others up to there; empty: nothing does.
    """

    offset: int
    mark: str

    @classmethod
    def parse(cls, stored: bytes) -> Spot:
        """Return what `lua/commit.lua` has stored.

        Raises:
            ValueError: it is something else.
        """
        found = _STORED.fullmatch(stored)
        if found is None:
            raise ValueError("the position of a file is not `offset token mark`")
        return cls(int(found[1]), (found[2] or b"").decode())


NOWHERE: Final = Spot(0, "")


def nth_id(file_id: str, n: int) -> str:
    """Return the id of the *n*-th file, from 0 on, whose own id is the same."""
    return f"{file_id}~{n}" if n else file_id
