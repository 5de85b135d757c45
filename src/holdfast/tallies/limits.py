"""How much a tally tells at once."""

from __future__ import annotations

from typing import Any, Final

MAX_LIMIT: Final = 10_000
"""Values in one reply."""


def checked_limit(limit: Any) -> int:
    """*limit*, if it is one.

    Raises:
        TypeError: it is not a whole number.
        ValueError: it is out of range.
    """
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"limit must be an int, got {type(limit).__name__}")
    if not 1 <= limit <= MAX_LIMIT:
        raise ValueError(f"limit must be 1 to {MAX_LIMIT:,}, got {limit:,}")
    return limit
