"""Reasons that are alike: the same but for numbers, ids and quoted values."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_VALUES: Final = re.compile(
    r"'[^']{0,200}'|\"[^\"]{0,200}\"|0x[0-9a-fA-F]+"
    r"|\b[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\b|\d+(?:[.,]\d+)*"
)
"""What differs between failures that have one cause."""

_LONGEST: Final = 300


@lru_cache(maxsize=4096)
def pattern_of(reason: str) -> str:
    """*reason* with `…` for each value in it."""
    return _VALUES.sub("…", reason[:_LONGEST]).strip()


def is_like(reason: str, pattern: str) -> bool:
    """Whether *reason* has that pattern."""
    return pattern_of(reason) == pattern
