"""How many names: of a list, and of a search."""

from __future__ import annotations

from typing import Final

from ..core.checks import checked_int

USUAL_LIMIT: Final = 100
"""Recent names that are kept where nobody has said."""

MAX_LIMIT: Final = 1000
"""Recent names that are kept, or matches that are found, at most: they go in one reply."""


def checked_limit(limit: int | None) -> int | None:
    """*limit*, if it is one; None stays None.

    Raises:
        TypeError: it is not an int.
        ValueError: it is out of range.
    """
    return None if limit is None else checked_int(limit, "limit", 1, MAX_LIMIT)
