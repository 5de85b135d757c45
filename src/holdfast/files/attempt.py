"""Why an attempt to read a file failed."""

from __future__ import annotations

from typing import Final

MAX_REASON: Final = 200
"""Characters that are kept."""


def reason_of(error: BaseException | None) -> bytes:
    """Return the type and the text of *error*, in a few words; empty without one."""
    if error is None:
        return b""
    name = type(error).__name__
    try:
        text = f"{name}: {error}"
    except Exception:  # noqa: BLE001  (its own text fails)
        text = name
    return text[:MAX_REASON].encode(errors="replace")
