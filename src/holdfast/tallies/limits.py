"""How much a tally tells at once."""

from __future__ import annotations

from typing import Any, Final

from ..core.checks import checked_int

MAX_LIMIT: Final = 10_000
"""Values in one reply."""


def checked_limit(limit: Any) -> int:
    """*limit*, if it is one.

    Raises:
        TypeError: it is not a whole number.
        ValueError: it is out of range.
    """
    return checked_int(limit, "limit", 1, MAX_LIMIT)
