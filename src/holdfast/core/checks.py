"""Whole numbers as users give them, checked before any I/O."""

from __future__ import annotations

from typing import Any


def checked_int(
    value: Any, what: str, least: int | None = None, most: int | None = None, *, unit: str = ""
) -> int:
    """Return *value* if it is a whole number from *least* to *most*.

    Args:
        value: as a user gives it; True and False are none.
        what: names it in the errors.
        least: the lowest that it may be; None: any.
        most: the highest, or None; given only together with *least*.
        unit: of it, for the errors.

    Raises:
        TypeError: it is not an int.
        ValueError: it is out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an int, got {type(value).__name__}")
    if least is not None and (value < least or (most is not None and value > most)):
        allowed = f"{least:,} or more" if most is None else f"{least:,} to {most:,}"
        raise ValueError(f"{what} must be {allowed}{unit and f' {unit}'}, got {int(value):,}")
    return int(value)
