"""Why an attempt to read a file failed."""

from __future__ import annotations

from typing import Final

from ..core.error_text import described
from ..errors import on_one_line

MAX_REASON: Final = 200
"""Characters that are kept."""


def reason_of(error: BaseException | None) -> bytes:
    """Return the type and the text of *error*, in a few words; empty without one."""
    if error is None:
        return b""
    return on_one_line(described(error, MAX_REASON)).encode(errors="replace")
