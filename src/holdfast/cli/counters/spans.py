"""How long something is, as a person writes it."""

from __future__ import annotations

import re
from typing import Final

import typer

UNITS: Final = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

_PARTS: Final = re.compile(r"(\d+(?:\.\d+)?)(min|[smhdw]?)")


def span(text: str | None) -> float | None:
    """Seconds of such as `90`, `90s`, `1h`, `1h30m` and `7d`; anything else is wrong usage."""
    if text is None:
        return None
    parts = _PARTS.findall(text.replace(" ", ""))
    seconds = sum(float(number) * UNITS[unit or "s"] for number, unit in parts)
    if "".join(map("".join, parts)) != text.replace(" ", "") or not 0 < seconds < 1e9:
        raise typer.BadParameter(f"{text!r} is no length of time; expected such as 90s, 1h or 7d")
    return seconds


def told(seconds: float) -> str:
    """As in `1 h` and `90 s`: in the largest unit of which it is a whole number."""
    for unit in ("d", "h", "min"):
        if seconds >= UNITS[unit] and seconds % UNITS[unit] == 0:
            return f"{seconds / UNITS[unit]:,.0f} {unit}"
    return f"{seconds:,g} s"
