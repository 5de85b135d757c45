"""Exit codes of commands that look for what is wrong, beside the usual ones of `app`."""

from __future__ import annotations

from typing import Final

WARNED: Final = 5
"""They found something that should be looked at."""

WRONG: Final = 6
"""They found something that is wrong."""
