"""Exit codes of the commands.

Only `locks run` and `locks wait` have others beside these, see `locks/codes.py`.
"""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
WRONG_USAGE: Final = 2
NOT_FOUND: Final = 3
REFUSED: Final = 4

WARNED: Final = 5
"""Of `doctor` and `fsck`: they found something that should be looked at."""

WRONG: Final = 6
"""Likewise: they found something that is wrong."""

INTERRUPTED: Final = 130
"""128 + SIGINT, as shells report it."""
