"""How many names: of a list, and of a search."""

from __future__ import annotations

from typing import Final

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
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"limit must be an int, got {type(limit).__name__}")
    if not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"limit must be 1 to {MAX_LIMIT:,}, got {limit}")
    return limit
